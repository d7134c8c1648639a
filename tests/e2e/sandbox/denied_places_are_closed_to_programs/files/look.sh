cat secrets/deep conf/key plain.txt 2>/dev/null
ls secrets
mv conf moved 2>/dev/null && echo moved
ln conf/key stolen 2>/dev/null && echo linked
echo changed 2>/dev/null >fixed.txt
rm -f fixed.txt 2>/dev/null
echo new >new.txt && cat new.txt
exit 0

open('by_script.txt', 'w').write('2')

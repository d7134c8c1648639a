ln -s secret/key x

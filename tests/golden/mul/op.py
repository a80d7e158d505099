x * y

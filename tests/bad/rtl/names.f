a.v
b/a.v
µ.v

// what a simulator would take
+incdir+include
rtl/top.v
-y lib

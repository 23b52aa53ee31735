// what a simulator would take
+define+WIDTH=8
rtl/top.v
-y lib

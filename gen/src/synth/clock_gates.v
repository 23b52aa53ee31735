// Of Yosys' cells for a flip-flop with a synchronous reset that goes before the enable: the reset enables, too.
module \$_SDFFE_PN0P_ (input D, C, R, E, output Q);
  \$_DFFE_PP_ _TECHMAP_REPLACE_ (.D(D & R), .C(C), .E(E | ~R), .Q(Q));
endmodule
module \$_SDFFE_PN1P_ (input D, C, R, E, output Q);
  \$_DFFE_PP_ _TECHMAP_REPLACE_ (.D(D | ~R), .C(C), .E(E | ~R), .Q(Q));
endmodule
module \$_SDFFE_PP0P_ (input D, C, R, E, output Q);
  \$_DFFE_PP_ _TECHMAP_REPLACE_ (.D(D & ~R), .C(C), .E(E | R), .Q(Q));
endmodule
module \$_SDFFE_PP1P_ (input D, C, R, E, output Q);
  \$_DFFE_PP_ _TECHMAP_REPLACE_ (.D(D | R), .C(C), .E(E | R), .Q(Q));
endmodule
module \$_SDFFE_PN0N_ (input D, C, R, E, output Q);
  \$_DFFE_PP_ _TECHMAP_REPLACE_ (.D(D & R), .C(C), .E(~E | ~R), .Q(Q));
endmodule
module \$_SDFFE_PN1N_ (input D, C, R, E, output Q);
  \$_DFFE_PP_ _TECHMAP_REPLACE_ (.D(D | ~R), .C(C), .E(~E | ~R), .Q(Q));
endmodule
module \$_SDFFE_PP0N_ (input D, C, R, E, output Q);
  \$_DFFE_PP_ _TECHMAP_REPLACE_ (.D(D & ~R), .C(C), .E(~E | R), .Q(Q));
endmodule
module \$_SDFFE_PP1N_ (input D, C, R, E, output Q);
  \$_DFFE_PP_ _TECHMAP_REPLACE_ (.D(D | R), .C(C), .E(~E | R), .Q(Q));
endmodule

"""LLVM's bitcode of a few functions, for tests of what is linked to kernels: made from the text below by ``llvm-as`` 19, so that no compiler is needed."""

from __future__ import annotations

import base64
import zlib

__all__ = ["BITCODE", "TEXT"]

TEXT = """\
source_filename = "bar.ll"
define i32 @bar(ptr %out, i32 %a, i32 %b) {
  %bad = icmp eq i32 %a, 13
  br i1 %bad, label %no, label %yes
no:
  ret i32 3
yes:
  %s = add i32 %a, %b
  store i32 %s, ptr %out
  ret i32 0
}
define float @twice(float %x) {
  %r = fmul float %x, 2.0
  ret float %r
}
define void @put(ptr %p, double %x) {
  store double %x, ptr %p
  ret void
}
define signext i8 @low(i8 signext %x, i1 zeroext %up) {
  %y = add i8 %x, 100
  %r = select i1 %up, i8 %y, i8 %x
  ret i8 %r
}
"""

BITCODE = zlib.decompress(
    base64.b85decode(
        "c-l=>Z)_7~7=N$5_R7}X-LOatclD0(XBZsEKxt{4w7oft@}WaRW`dy|P=_wqjk13j)2_uEq0xf-&=^cM#YDdq9SI*6U3&xTxZotjEO9KY>&7sHEiw&>eDJw$5iYs+?fcyGKF{y>{Hs?SoqpMbkPac#"
        "ViY#N{`L={yZ>JOv9c+800S9sMCcRvQK{jP2F@0EiCE1APafZ|r|az(v4nAp&S0_P=Ubxms~YdcN^gR$H`xs4H!AAA{l4%RU(>KwO46Q-nqzsx6%!{m_H#dD_1;7?nX2B@kQ(ayQe%;co9iszWO575"
        "?u+CRI>#YIgRe~?oc_++x2F0aEEn2yeqY6!tqnJHUhh`JhR<tI+>19T$P^6W0mGnC_sVNgr5Zo(R$|fZNPU{j2;s1A>_;e5m7vk2zJ*4+(0-7se4hK*ZC3R*@WvCkyR`FWs=|z;r%x0!AFR@0&qxF$"
        "zIe>`i~#8azN^Lxg#OnWMZPw=wgO^Bp9i4~qTPllGgf3mCd}0@+7fco8zp+WiBsuz;~b(M(ByKI+->w)b6NJ*5EBw~WwrQ5MeE9ouB6tbbSEQW;*5dl@k!w@(Hquwc1vMSvMAN$LW(R3)JcJwSt6JG"
        "<ZgP5o#vTIp3McVA>o{3B<`3H?ZaB<NZgswI+P_-XMi}<O6+ZwI$(`T;gl2(5S_I|=VKk1?TSiA3{tyU>PSmH>DZ2kOXR}>`S&QfAZT0iLriIiQOfI7kQwKhu^2lZ)c=+e?Rn9jF0a>Q+kj~6*E$B|"
        "o#6CIpW}|!k&%r*osh!KQb#x*X(hS?Qp7Ap1|`d_H>rn+`pZw2Qsj)ADstoku;6OhsjM~UvEJsHshD-Dz?6#YpO`gdZn9;>eV5`6#lLx#NI>f9Cc4v22bNQm8UgEj*6|=S&$H86_9M)y0_NGJp#H71"
        "ahoDLGNKCt@+9XhiH?3a%E{{$z*Oo2JO-k-mgq>w4$si!!YDcGCm#tl+1nm#sknZ!$W8+QpT&`hyN2T%6S6HS+7;P(Eo;xqz|pDrhT9DUplXKzHcOV@Z;%TC>On!j#8I;XHOo=|_{ozrIU|s8d{ofi"
        "FOVfa`B<p=V<E`oV(esb{Q}R<@$4ASLI&sg7ed?@juFvyO=};B+m+@K$Uczm1)M&qD=b-V-Xj+Us#qZJyQ%ww;6=u?r@kS8%aJsciW=d_1f(*S@YoA7gw6$-Qru&M?D!B{@K~p_Olb2_fh?-|rNGFn"
        "AoB6kX5y4jIx;AI7=^o61~6w*b`Hq432`5klL8Sl`uKI;pcSCr%CZMzrqF?R1#*$277O}CKeeoyB4-QwIgTn$0NJnH@y=GF$3UQOq2peHo~W$osD)Z1dYi*(;HN^fPsn|9%#ER{d5_u(b7}z896rBi"
        "CP3cvLupVYwLqwQesVbzjS)Sy<;v}r+E?<{9KIymhB3$GxNAVxybn#lOcj|ajwuDzbv|az1(}H<CchHwU>2j60U+Rwl9l}{q;<d8fZ`++vJ4@2K!&0J@>+-5+P}h3(yKF2abAu)E<u57U4wBa6njcm"
        "`#%VC%cRZ~T->3~FLlP4zHZXjz%Ex^NBZxLF?uQ7h{<|<tr1a0H`s!2AsXK%1QN$8V-d_dW6l=*pKUi{LbGReq^Nd{WxJlTT`jzOj^do5k1NlwZFtUOqgVVj(uYHI!_#|2`Cc}I@i?9VhpNsY`fwxd"
        "e5zCRjBS-i;w*#q;=)~;))Fd4e8uh|&i^Tkr+K`36<0gA^50QU(wh?Kj>bG#7u7u0*yz;>`3`_y1N&O-z=oD!N2Ke-(c|IMk+u)IcG>H8)$IjYU0d6V?tcs<5*7"
    )
)

function n(o,t,c){let e=document.createElement("a");e.href=URL.createObjectURL(new Blob([o],{type:c})),e.download=t,e.click(),setTimeout(()=>URL.revokeObjectURL(e.href))}export{n as a};

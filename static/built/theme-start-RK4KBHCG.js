"use strict";(()=>{try{let t=localStorage.getItem("chatsite:theme");(t==="light"||t==="dark")&&(document.documentElement.dataset.theme=t)}catch{}})();

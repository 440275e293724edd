// Puts the built script and style into the page, so that it is one file that loads nothing, and
// locks it with a Content-Security-Policy that allows this one script by its hash.

import { createHash } from "node:crypto";
import type { Plugin } from "vite";

/** Hash of an inline script or style as a policy names it. */
function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}

/** The policy: nothing is loaded, sent or framed; one script runs, one style sheet applies. */
function policyOf(script: string, style: string): string {
  return [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src-elem ${hashOf(style)}`,
    // The charts set style attributes on the elements that they draw; an attribute loads nothing.
    "style-src-attr 'unsafe-inline'",
    "img-src data:",
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

/** The Vite plugin: after bundling, everything goes into `index.html`. */
export function oneFile(): Plugin {
  return {
    name: "one-file",
    apply: "build",
    enforce: "post",
    generateBundle(_options, bundle) {
      let script = "";
      let style = "";
      for (const [name, output] of Object.entries(bundle)) {
        if (output.type === "chunk") {
          script += output.code;
          delete bundle[name];
        } else if (name.endsWith(".css")) {
          style += String(output.source);
          delete bundle[name];
        }
      }
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("the build gave no index.html");
      // Neither may end the element that it is put in.
      script = `\n${script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--")}`;
      style = style.replaceAll("</style", "<\\/style");
      const policy = policyOf(script, style);
      const meta = `<meta http-equiv="Content-Security-Policy" content="${policy}">`;
      // Replacements are functions: text with `$` in it is taken as it is.
      page.source = String(page.source)
        .replace(/\s*<script[^>]*src=[^>]*><\/script>/g, "")
        .replace(/\s*<link[^>]*rel="stylesheet"[^>]*>/g, "")
        .replace('<meta charset="utf-8">', () => `<meta charset="utf-8">\n    ${meta}`)
        .replace("</head>", () => `<style>${style}</style>\n  </head>`)
        .replace("</body>", () => `<script type="module">${script}</script>\n  </body>`);
    },
  };
}

import { defineConfig } from "vite";
import { oneFile } from "./one-file.ts";

export default defineConfig({
  base: "./",
  plugins: [oneFile()],
  build: {
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    chunkSizeWarningLimit: 2000,
  },
});

/** What `type: "file"` imports: where the file is. */
declare module "@jitl/quickjs-wasmfile-release-sync/wasm" {
  const path: string
  export = path
}

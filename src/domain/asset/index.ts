export { type PublicFile, publicFile } from "./public.ts"

/** What this module is to the whole: it keeps nothing, files lie beside whose they are. */
export const module = {
  operations: () => import("./api.ts"),
} as const

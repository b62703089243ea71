export { type PublicFile, publicFile } from "./public.ts"

/**
 * The registration of this module. It has no storage of its own; files are stored by their owners.
 */
export const module = {
  operations: () => import("./api.ts"),
} as const

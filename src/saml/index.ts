export { type SamlParts, samlRoutes } from "./routes.ts"

/** Everything that this module registers with the server. */
export const module = {
  operations: () => import("./api.ts"),
} as const

export { type SamlParts, samlRoutes } from "./routes.ts"

/** What SAML is to the whole. */
export const module = {
  operations: () => import("./api.ts"),
} as const

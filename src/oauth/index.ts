import { backChannelLogout } from "./logout/back-channel.ts"

export { apiCaller } from "./api-caller.ts"
export { postAnswer } from "./authorize/answer.ts"
export { isTester } from "./authorize/tested.ts"
export type { Use } from "./client/proof.ts"
export { namingMetadata } from "./endpoint/metadata/protected-resource.ts"
export { OAuthError } from "./error.ts"
export { requireHanded } from "./handed/callback.ts"
export { handedId, loginPageOf } from "./handed/login-page.ts"
export { type NamedSession, provenBy } from "./handed/proven.ts"
export { mustBeDone } from "./handed/step.ts"
export { paths as oauthPaths } from "./issuer.ts"
export { backChannelLogout } from "./logout/back-channel.ts"
export { logoutFrames } from "./logout/front-channel.ts"
export { type Published, publishedHandler } from "./published.ts"
export { redirect } from "./response.ts"
export { type OAuthParts, oauthRoutes } from "./routes.ts"
export { systemCaller } from "./system-caller.ts"

/** What the authorization server is to the whole. */
export const module = {
  reactors: [backChannelLogout],
  operations: () => import("./api.ts"),
} as const

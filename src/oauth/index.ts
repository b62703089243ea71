import { backChannelLogout } from "./logout/back-channel.ts"

export { authenticateApiCaller } from "./api-caller.ts"
export { postResponse } from "./authorize/response.ts"
export { isTester } from "./authorize/sign-in-test.ts"
export type { ProofRequest } from "./client/proof.ts"
export { requireCustomLoginRequest } from "./custom-login/callback.ts"
export { findCustomLoginPage, newCustomLoginId } from "./custom-login/login-page.ts"
export { requirePresentSession, type SessionReference } from "./custom-login/session.ts"
export { requireComplete } from "./custom-login/step.ts"
export { withMetadataLink } from "./endpoint/metadata/protected-resource.ts"
export { OAuthError } from "./error.ts"
export { paths as oauthPaths } from "./issuer.ts"
export { backChannelLogout } from "./logout/back-channel.ts"
export { frontChannelUris } from "./logout/front-channel.ts"
export { type PublicDocument, publicDocumentHandler } from "./public-document.ts"
export { redirect } from "./response.ts"
export { type OAuthParts, oauthRoutes } from "./routes.ts"
export { authenticateSystemUser } from "./system-caller.ts"

/** Everything that this module registers with the server. */
export const module = {
  reactors: [backChannelLogout],
  operations: () => import("./api.ts"),
} as const

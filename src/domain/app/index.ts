import { appChain } from "./client.ts"

export { appChain, type Client, findClient, isAppActive } from "./client.ts"
export {
  type AppKind,
  type ApplicationChange,
  type ApplicationInput,
  addApplication,
  changeApplication,
  createApplication,
  deactivateApplication,
  generateSecret,
  isSecret,
  newSecret,
  reactivateApplication,
  removeApplication,
  removeProjectWithApps,
} from "./commands.ts"
export {
  type ApiApp,
  type App,
  type AppEvent,
  type AuthMethod,
  app,
  type GrantType,
  type OidcApp,
  type OidcConfig,
  type ResponseType,
  type TokenType,
} from "./model.ts"
export { allowedOrigins, complianceProblems, oidcDefaults } from "./oidc.ts"
export { apps, appView } from "./view.ts"

/** What an access rule may hang from, by the name of the resource. */
export const chains = { app: appChain }

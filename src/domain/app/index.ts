import { appChain } from "./client.ts"
import { appKeyChain } from "./credential/app-key.ts"
import { app } from "./model.ts"
import { appView } from "./view.ts"

export { backChannelReactor, failureOfClient } from "./back-channel.ts"
export {
  type AskedFor,
  acceptsPlainOauth,
  appChain,
  applicationAskedFor,
  type Client,
  findClient,
  isAppActive,
  needsPkce,
  orgOidcFor,
} from "./client.ts"
export {
  type AppKind,
  type ApplicationChange,
  type ApplicationInput,
  addApplication,
  changeApplication,
  createApplication,
  deactivateApplication,
  dropProject,
  reactivateApplication,
  removeApplication,
  removeProjectWithApps,
} from "./commands.ts"
export { type AppKey, addAppKey, appKey, createAppKey, removeAppKey } from "./credential/app-key.ts"
export {
  generateSecret,
  isSecret,
  newSecret,
  removeSecret,
  secretsOf,
} from "./credential/secret.ts"
export {
  type AccessRule,
  isAtOrBelow,
  proxiedCallback,
  proxiedOrigins,
  type RemoteUser,
  rulesFor,
  satisfies,
} from "./forward-auth.ts"
export {
  type ApiApp,
  type ApiConfig,
  type ApiScope,
  type App,
  type AppEvent,
  type AppType,
  type AuthMethod,
  app,
  type ClientJwk,
  type GrantType,
  isGone,
  methodOf,
  type OidcApp,
  type OidcConfig,
  type ResponseType,
  type SamlApp,
  type TokenConfig,
  type TokenType,
} from "./model.ts"
export { allowedOrigins, isPrivateAllowed, type OidcInput, oidcDefaults } from "./oidc.ts"
export {
  type AddressProblem,
  addressProblem,
  isRegistered,
  redirectProblem,
} from "./redirect-uri.ts"
export {
  type ClientMetadata,
  type Credentials,
  changeRegistration,
  expireApplications,
  isRegistrationToken,
  isSelfRegistered,
  noteUse,
  registerApplication,
} from "./registration.ts"
export { projectOfResource } from "./resource.ts"
export {
  type AttributeFormat,
  type AttributeNames,
  type SamlAttributes,
  type SamlMapping,
  type SamlUserField,
  usualAttributes,
} from "./saml/attributes.ts"
export {
  type Consumer,
  type FoundProvider,
  findServiceProvider,
  type ServiceProvider,
  serviceProviderOf,
} from "./saml/service-provider.ts"
export {
  addressScope,
  apiScope,
  apisNamed,
  type DefinedScope,
  isScope,
  listScopes,
  scopesFor,
  standardScopes,
} from "./scope.ts"
export { apps, appView } from "./view.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [app],
  views: [appView],
  chains: { app: appChain, app_key: appKeyChain },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const

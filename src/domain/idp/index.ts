import type { Cx } from "../../store/index.ts"
import { findIdpById } from "./commands.ts"
import { intent } from "./intent/model.ts"
import { idpMetadata, idpSecret, idps } from "./model.ts"

export { isActiveIdp, isActiveIdpFor, listActiveIdps, listActiveIdpsFor } from "./active.ts"
export {
  authorityInTransaction,
  authorsInTransaction,
  createIdp,
  findAuthority,
  findIdpById,
  idpNotFoundError,
  idpsOf,
  isTrustedForAddresses,
  type OwnedIdp,
  ownerStreamId,
  removeOrgIdps,
  withAuthority,
} from "./commands.ts"
export {
  type CompletedIntent as Intent,
  completeOpenIntent,
  consumeAnswer,
  consumeIntent,
  createAnsweredIntent,
  failIntent,
  findIntentOfBrowser,
  findOpenIntent,
  findPostedAnswer,
  getIntentByToken,
  getIntentReceipt,
  isAuthorityCurrent,
  type OpenIntent,
  recordPostedAnswer,
  startIntent,
  succeedIntent,
} from "./intent/commands.ts"
export { type Idp, idps, type Options } from "./model.ts"
export { signerOf } from "./saml/key-pair.ts"
export { currentProvider, storedProvider } from "./saml/refresh.ts"
export { createSignOnForm } from "./saml/request.ts"
export { finishSamlSignIn } from "./saml/response.ts"
export {
  createMetadata,
  providerIdOfPath,
  type SamlEndpoint,
  serviceProviderFor,
} from "./saml/service-provider.ts"
export { secretOf } from "./secret.ts"
export { findInDirectory, verifyDirectoryPassword } from "./upstream/directory.ts"
export { finishSignIn as finishUpstream } from "./upstream/finish.ts"
export type { RequestedSignIn } from "./upstream/forward.ts"
export {
  type AuthenticatedAnswer,
  type Identity,
  type ScriptResult,
  type UpstreamSession,
  withoutScripts,
} from "./upstream/identity.ts"
export { type AnswerRule, answerFindingOf } from "./upstream/refused-answer.ts"
export { type SignInTimes, signInTimesOf } from "./upstream/sign-in-time.ts"
export { callbackPath, redirectUriOf } from "./upstream/start.ts"
export { parseTokenState, tokenPath } from "./upstream/token.ts"
export { signInMethodOf } from "./upstream/vendor.ts"
export { idpExists, vouchesFor } from "./vouching.ts"

/** Parts of this module that the server loads. */
export const module = {
  aggregates: [idps, idpSecret, idpMetadata, intent],
  chains: {
    idp: (cx: Cx, id: string) => {
      const found = findIdpById(cx, id)
      return found && ({ instance: true, ...(found.place && { org: found.place }) } as const)
    },
  },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const

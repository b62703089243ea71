import type { Cx } from "../../store/index.ts"
import { idpById } from "./commands.ts"
import { intent } from "./intent/model.ts"
import { idpMetadata, idpSecret, idps } from "./model.ts"

export {
  activeIdps,
  activeIdpsFor,
  addIdp,
  answeredBy,
  authorityOfIdp,
  authorityWithin,
  authorsWithin,
  dropIdps,
  type Found,
  idpById,
  idpsOf,
  isActiveIdp,
  isActiveIdpFor,
  isTrustedForAddresses,
  missingError,
  placeId,
  secretOf,
} from "./commands.ts"
export {
  broughtIntent,
  consumeIntent,
  type Done as Intent,
  doneWith,
  failIntent,
  intentByToken,
  intentOfBrowser,
  intentStand,
  isNow,
  noteAnswered,
  noteBrought,
  type Open as OpenIntent,
  openIntent,
  startIntent,
  succeedIntent,
  useAnswer,
} from "./intent/commands.ts"
export { type Idp, idps, type Options } from "./model.ts"
export { keptProvider, providerNow } from "./saml/known.ts"
export { signerOf } from "./saml/pair.ts"
export { signOnForm } from "./saml/request.ts"
export { finishSaml } from "./saml/response.ts"
export { providerIn, type SamlPart, samlMetadata, samlSelf } from "./saml/self.ts"
export { findInDirectory, isProvedByDirectory } from "./upstream/directory.ts"
export { finish as finishUpstream } from "./upstream/finish.ts"
export type { RequestedSignIn } from "./upstream/forward.ts"
export {
  type Answered,
  type Identity,
  type Scripted,
  type UpstreamSession,
  unscripted,
} from "./upstream/identity.ts"
export { type AnswerRule, answerFindingOf } from "./upstream/refused.ts"
export { type SignInTimes, signInTimesOf } from "./upstream/sign-in-time.ts"
export { callbackPath, redirectUriOf } from "./upstream/start.ts"
export { tokenPath, tokenState } from "./upstream/token.ts"
export { entranceOf } from "./upstream/vendor.ts"
export { isIdpThere, vouchesFor } from "./vouching.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [idps, idpSecret, idpMetadata, intent],
  chains: {
    idp: (cx: Cx, id: string) => {
      const found = idpById(cx, id)
      return found && ({ instance: true, ...(found.place && { org: found.place }) } as const)
    },
  },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const

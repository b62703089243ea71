import { signUpLink, signUpNotice, signUpRequest } from "./model.ts"
import { findLinkChain, findRequestChain, signUpLinkView, signUpRequestView } from "./view.ts"

export {
  acceptsEmail,
  findUsableSignUpLink,
  isLinkSecretValid,
  redeemSignUpLink,
  signUpLinkPath,
} from "./link.ts"
export type { SignUpLink } from "./model.ts"
export { needsApproval, removeSignUps, submitSignUp } from "./request.ts"

/** Parts of this module that the server loads. */
export const module = {
  aggregates: [signUpLink, signUpRequest, signUpNotice],
  views: [signUpLinkView, signUpRequestView],
  chains: { sign_up_link: findLinkChain, sign_up_request: findRequestChain },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const

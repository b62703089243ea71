export { passwordText } from "./appearance/fault-text.ts"
export { brandingOrgOf } from "./appearance/private-labeling.ts"
export { accountOf } from "./context.ts"
export {
  type FailedStep,
  finishSignIn,
  formatNotFreshReason,
  repeatFinish,
  type SignInOutcome,
} from "./finish.ts"
export { showFinishedReason, showForeignForm, showNoCookies } from "./finished.ts"
export {
  nextStep,
  type Policies,
  type PresentSession,
  type SessionPolicy,
  type Step,
} from "./flow.ts"
export { createShowPage, type ShowPage, showContinue, showError, showFault } from "./page.ts"
export { pageStateFor } from "./page-state.ts"
export { callbackPaths, continuePath, loginPaths, stepPath } from "./path.ts"
export { isRegistrationOpen } from "./policy/registration.ts"
export {
  applicationName,
  type PendingRequest,
  policiesFor,
  requestedName,
  requirementsOf,
  stepFor,
} from "./request.ts"
export { loginRoutes } from "./routes.ts"
export {
  type BrowserContext,
  findPresentSession,
  isOwnForm,
  loadBrowserContext,
} from "./session.ts"

export { accountOf } from "./context.ts"
export { type Finish, finish, finishAgain, notFreshReason, type RefusedStep } from "./finish.ts"
export { showForeignForm, showNoCookies, showOver } from "./finished.ts"
export {
  nextStep,
  type Policies,
  type Present,
  type SessionPolicy,
  type Step,
} from "./flow.ts"
export { passwordText } from "./look/fault-text.ts"
export { lookOrgOf } from "./look/labelling.ts"
export { notesFor } from "./note.ts"
export { pagesWith, type ShowPage, showContinue, showFault, showTrouble } from "./page.ts"
export { callbackPaths, continuePath, loginPaths, stepPath } from "./path.ts"
export { isRegistrationOpen } from "./policy/registration.ts"
export {
  applicationName,
  askedName,
  policiesFor,
  requirementsOf,
  stepFor,
  type Waiting,
} from "./request.ts"
export { loginRoutes } from "./routes.ts"
export { type BrowserContext, browserContextOf, isOwnForm, presentBy } from "./session.ts"

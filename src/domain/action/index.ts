import type { Cx } from "../../store/index.ts"
import { orgExists } from "../org/index.ts"
import { action, flow, isExistingAction } from "./model.ts"
import { actionView } from "./view.ts"

export { addAction, deactivateAction, removeAction, setTrigger } from "./commands.ts"
export { flows, flowTypes, parseFlow, parseTrigger } from "./flow-kind.ts"
export { type Action, action, flow, flowId } from "./model.ts"
export {
  metadataFrom,
  newUserForScript,
  runAfterExternal,
  runBeforeCreation,
} from "./run/profile.ts"
export { rejectedId } from "./run/run.ts"
export { complementSaml, type SamlAttribute } from "./run/saml.ts"
export {
  type AuthMethod,
  addRoleGrants,
  hasAfterAuthentication,
  isScriptRejection,
  runAfterAuthentication,
  runAfterCreation,
  type ScriptRequest,
  storeScriptMetadata,
} from "./run/sign-in.ts"
export { type ComplementInput, complementClaims, type ReplaceableClaims } from "./run/token.ts"
export { actionsOf } from "./view.ts"

/** The registration of this module. */
export const module = {
  aggregates: [action, flow],
  views: [actionView],
  chains: {
    action: (cx: Cx, id: string) => {
      const state = cx.store.state(cx, action, id)
      if (!isExistingAction(state) || !orgExists(cx, state.orgId)) return undefined
      return { instance: true, org: state.orgId } as const
    },
  },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const

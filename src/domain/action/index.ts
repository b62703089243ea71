import type { Cx } from "../../store/index.ts"
import { isOrgThere } from "../org/index.ts"
import { action, flow, isThere } from "./model.ts"
import { actionView } from "./view.ts"

export { addAction, deactivateAction, removeAction, setTrigger } from "./commands.ts"
export { flowOf, flows, flowTypes, triggerOf } from "./flow-kind.ts"
export { type Action, action, flow, flowId } from "./model.ts"
export { afterExternal, beforeCreation, notedBy, shownNew } from "./run/profile.ts"
export { refusedId } from "./run/run.ts"
export { type Attribute, complementSaml } from "./run/saml.ts"
export {
  type AuthMethod,
  afterAuthentication,
  afterCreation,
  giveGranted,
  hasAfterAuthentication,
  isRefusal,
  noteScripted,
  type Scene,
} from "./run/sign-in.ts"
export { type Complementing, complementClaims, type Replaceable } from "./run/token.ts"
export { actionsOf } from "./view.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [action, flow],
  views: [actionView],
  chains: {
    action: (cx: Cx, id: string) => {
      const state = cx.store.state(cx, action, id)
      if (!isThere(state) || !isOrgThere(cx, state.orgId)) return undefined
      return { instance: true, org: state.orgId } as const
    },
  },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const

import { Fault } from "../../kernel/fault.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import { systemInstance } from "../instance/index.ts"
import {
  type FeatureKey,
  type FeatureLevel,
  type Features,
  features,
  type LoginV2,
  lasting,
} from "./model.ts"

type Given = { readonly level: FeatureLevel; readonly values: Features }

const set = features.command<Given>((state, { level, values }) => {
  const keys = Object.keys(values).filter(isKey)
  const changed = keys.filter((key) => JSON.stringify(values[key]) !== JSON.stringify(state[key]))
  for (const key of changed) {
    if (level === "instance" && lasting.includes(key) && state[key] === true)
      throw notResettableError(key)
  }
  return changed.flatMap((key) => {
    const value = values[key]
    return value === undefined ? [] : [{ type: `feature.${level}.${key}.set`, data: { value } }]
  })
})

const reset = features.command<FeatureLevel>((state, level) => {
  const goes = Object.keys(state).filter((key) => {
    const stays = isKey(key) && lasting.includes(key) && state[key] === true
    return level === "system" || !stays
  })
  return goes.length > 0 ? [{ type: `feature.${level}.reset`, data: {} }] : []
})

/** Sets features of the instance; what is not given stays. Some can't be turned off again. */
export const setInstanceFeatures = (cx: Cx, values: Features): Promise<Receipt> =>
  set(cx, cx.instance, { level: "instance", values })

/** Takes back what was set for the instance, but what can't be turned off. */
export const resetInstanceFeatures = (cx: Cx): Promise<Receipt> =>
  reset(cx, cx.instance, "instance")

/** Sets features for all instances that don't say otherwise. */
export const setSystemFeatures = (cx: Cx, values: Features): Promise<Receipt> =>
  set(ofSystem(cx), systemInstance, { level: "system", values })

/** Takes back what was set for all instances. */
export const resetSystemFeatures = (cx: Cx): Promise<Receipt> =>
  reset(ofSystem(cx), systemInstance, "system")

const ofSystem = (cx: Cx): Cx => ({ ...cx, instance: systemInstance })

/** What was said for one instance, and for all, and where both stand. */
export function featuresOf(cx: Cx): Said & { readonly system: Said } {
  return { ...said(cx, cx.instance), system: systemFeatures(cx) }
}

export const systemFeatures = ({ store }: Cx): Said =>
  said({ store, instance: systemInstance }, systemInstance)

type Said = { readonly values: Features; readonly receipt: Receipt | undefined }

const said = (cx: Pick<Cx, "store" | "instance">, id: string): Said => ({
  values: cx.store.state(cx, features, id),
  receipt: cx.store.receipt(cx, features, id),
})

/** Whether a feature holds for the instance, whoever said so; nobody said: it doesn't. */
export function isFeatureOn(cx: Cx, key: FeatureKey): boolean {
  const at = (instance: string) => cx.store.state({ instance }, features, instance)[key]
  return (at(cx.instance) ?? at(systemInstance)) === true
}

/** Which login the instance has; nobody said: our own. */
export function loginFeature(cx: Cx): LoginV2 {
  const { values, system } = featuresOf(cx)
  const value = values.login_v2 ?? system.values.login_v2
  return typeof value === "object" && "required" in value ? value : { required: false }
}

const keys: ReadonlySet<string> = new Set<FeatureKey>([
  "login_default_org",
  "user_schema",
  "token_exchange",
  "improved_performance",
  "debug_oidc_parent_error",
  "oidc_single_v1_session_termination",
  "enable_back_channel_logout",
  "login_v2",
  "permission_check_v2",
  "console_use_v2_user_api",
])

const isKey = (key: string): key is FeatureKey => keys.has(key)

const notResettableError = (key: FeatureKey) =>
  new Fault("failed_precondition", "feature.lasting", `${key} can't be turned off again`)

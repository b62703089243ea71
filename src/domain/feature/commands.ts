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

type FeatureInput = { readonly level: FeatureLevel; readonly values: Features }

const setFeatures = features.command<FeatureInput>((state, { level, values }) => {
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

const resetFeatures = features.command<FeatureLevel>((state, level) => {
  const goes = Object.keys(state).filter((key) => {
    const stays = isKey(key) && lasting.includes(key) && state[key] === true
    return level === "system" || !stays
  })
  return goes.length > 0 ? [{ type: `feature.${level}.reset`, data: {} }] : []
})

/**
 * Sets features of the instance; omitted features keep their values. Some can't be turned off
 * again.
 */
export const setInstanceFeatures = (cx: Cx, values: Features): Promise<Receipt> =>
  setFeatures(cx, cx.instance, { level: "instance", values })

/** Resets the features of the instance except those that can't be turned off. */
export const resetInstanceFeatures = (cx: Cx): Promise<Receipt> =>
  resetFeatures(cx, cx.instance, "instance")

/** Sets features for all instances that have no value of their own. */
export const setSystemFeatures = (cx: Cx, values: Features): Promise<Receipt> =>
  setFeatures(inSystem(cx), systemInstance, { level: "system", values })

/** Resets the features for all instances. */
export const resetSystemFeatures = (cx: Cx): Promise<Receipt> =>
  resetFeatures(inSystem(cx), systemInstance, "system")

const inSystem = (cx: Cx): Cx => ({ ...cx, instance: systemInstance })

/** The features of the instance and of the system, with their receipts. */
export function featuresOf(cx: Cx): FeatureSet & { readonly system: FeatureSet } {
  return { ...readFeatures(cx, cx.instance), system: systemFeatures(cx) }
}

export const systemFeatures = ({ store }: Cx): FeatureSet =>
  readFeatures({ store, instance: systemInstance }, systemInstance)

type FeatureSet = { readonly values: Features; readonly receipt: Receipt | undefined }

const readFeatures = (cx: Pick<Cx, "store" | "instance">, id: string): FeatureSet => ({
  values: cx.store.state(cx, features, id),
  receipt: cx.store.receipt(cx, features, id),
})

/** Whether a feature is on for the instance or the system; off by default. */
export function isFeatureOn(cx: Cx, key: FeatureKey): boolean {
  const at = (instance: string) => cx.store.state({ instance }, features, instance)[key]
  return (at(cx.instance) ?? at(systemInstance)) === true
}

/** The login of the instance; by default the built-in one. */
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
  new Fault("failed_precondition", "feature.lasting", `${key} can't be turned off`)

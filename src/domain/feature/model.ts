import { aggregate, type Event, type PersistedEvent } from "../../store/index.ts"

export type LoginV2 = { readonly required: boolean; readonly baseUri?: string }

export type FeatureKey =
  | "login_default_org"
  | "user_schema"
  | "token_exchange"
  | "improved_performance"
  | "debug_oidc_parent_error"
  | "oidc_single_v1_session_termination"
  | "enable_back_channel_logout"
  | "login_v2"
  | "permission_check_v2"
  | "console_use_v2_user_api"

export type FeatureValue = boolean | readonly number[] | LoginV2

/** The features set at one level; others are inherited from the level above. */
export type Features = Readonly<Partial<Record<FeatureKey, FeatureValue>>>

/** The level of features: for all instances, or for one. */
export type FeatureLevel = "system" | "instance"

type SetType = `feature.${FeatureLevel}.${FeatureKey}.set`

export type FeatureEvent =
  | { [Type in SetType]: Event<Type, { readonly value: FeatureValue }> }[SetType]
  | Event<"feature.system.reset">
  | Event<"feature.instance.reset">

const set =
  (key: FeatureKey) =>
  (state: Features, { data }: Pick<PersistedEvent<FeatureEvent & { type: SetType }>, "data">) => ({
    ...state,
    [key]: data.value,
  })

/** Features that can't be turned off. */
export const lasting: readonly FeatureKey[] = ["login_default_org"]

/** The features of one instance, or of the system; one stream each, with the ID of the instance. */
export const features = aggregate<FeatureEvent, Features>({
  stream: "feature",
  initial: {},
  evolve: {
    "feature.system.login_default_org.set": set("login_default_org"),
    "feature.system.user_schema.set": set("user_schema"),
    "feature.system.token_exchange.set": set("token_exchange"),
    "feature.system.improved_performance.set": set("improved_performance"),
    "feature.system.debug_oidc_parent_error.set": set("debug_oidc_parent_error"),
    "feature.system.oidc_single_v1_session_termination.set": set(
      "oidc_single_v1_session_termination",
    ),
    "feature.system.enable_back_channel_logout.set": set("enable_back_channel_logout"),
    "feature.system.login_v2.set": set("login_v2"),
    "feature.system.permission_check_v2.set": set("permission_check_v2"),
    "feature.system.console_use_v2_user_api.set": set("console_use_v2_user_api"),
    "feature.system.reset": () => ({}),
    "feature.instance.login_default_org.set": set("login_default_org"),
    "feature.instance.user_schema.set": set("user_schema"),
    "feature.instance.token_exchange.set": set("token_exchange"),
    "feature.instance.improved_performance.set": set("improved_performance"),
    "feature.instance.debug_oidc_parent_error.set": set("debug_oidc_parent_error"),
    "feature.instance.oidc_single_v1_session_termination.set": set(
      "oidc_single_v1_session_termination",
    ),
    "feature.instance.enable_back_channel_logout.set": set("enable_back_channel_logout"),
    "feature.instance.login_v2.set": set("login_v2"),
    "feature.instance.permission_check_v2.set": set("permission_check_v2"),
    "feature.instance.console_use_v2_user_api.set": set("console_use_v2_user_api"),
    "feature.instance.reset": (state) =>
      state.login_default_org === true ? { login_default_org: true } : {},
  },
})

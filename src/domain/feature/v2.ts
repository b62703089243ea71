import { bindHandlers } from "../../api/method.ts"
import { type LoginV2 as AskedLogin, Source } from "../../gen/core/feature/v2/feature_pb.ts"
import {
  FeatureService,
  type SetInstanceFeaturesRequest,
  type SetSystemFeaturesRequest,
} from "../../gen/core/feature/v2/feature_service_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import { toDetails } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import {
  featuresOf,
  resetInstanceFeatures,
  resetSystemFeatures,
  setInstanceFeatures,
  setSystemFeatures,
  systemFeatures,
} from "./commands.ts"
import type { FeatureKey, Features, FeatureValue, LoginV2 } from "./model.ts"

export const v2 = bindHandlers<Cx>()(FeatureService, {
  setSystemFeatures: async (req, cx) => ({
    details: toDetails(await setSystemFeatures(cx, featuresFrom(req))),
  }),
  resetSystemFeatures: async (_, cx) => ({ details: toDetails(await resetSystemFeatures(cx)) }),
  getSystemFeatures: (_, cx) => {
    const { values, receipt } = systemFeatures(cx)
    const flags = toFlags([{ values, source: Source.SYSTEM }], false)
    return { ...flags, ...(receipt && { details: toDetails(receipt) }) }
  },
  setInstanceFeatures: async (req, cx) => ({
    details: toDetails(await setInstanceFeatures(cx, featuresFrom(req))),
  }),
  resetInstanceFeatures: async (_, cx) => ({ details: toDetails(await resetInstanceFeatures(cx)) }),
  getInstanceFeatures: ({ inheritance }, cx) => {
    const { values, receipt, system } = featuresOf(cx)
    const own = { values, source: Source.INSTANCE }
    const above = { values: system.values, source: Source.SYSTEM }
    const flags = toFlags(inheritance ? [own, above] : [own], inheritance)
    return { ...flags, ...(receipt && { details: toDetails(receipt) }) }
  },
  // The API has no fields at these levels, so there is nothing to set or return.
  setOrganizationFeatures: () => ({}),
  resetOrganizationFeatures: () => ({}),
  getOrganizationFeatures: () => ({}),
  setUserFeatures: () => ({}),
  resetUserFeatures: () => ({}),
  getUserFeatures: () => ({}),
})

type SetFeaturesRequest = SetSystemFeaturesRequest | SetInstanceFeaturesRequest

/** The features in a request, without omitted ones. */
function featuresFrom(req: SetFeaturesRequest): Features {
  const perf = req.improvedPerformance
  const requestedValues: { readonly [Key in FeatureKey]?: FeatureValue | undefined } = {
    login_default_org: req.loginDefaultOrg,
    user_schema: req.userSchema,
    token_exchange: req.oidcTokenExchange,
    improved_performance: perf.length > 0 ? parsePerformance(perf) : undefined,
    oidc_single_v1_session_termination: req.oidcSingleV1SessionTermination,
    enable_back_channel_logout: req.enableBackChannelLogout,
    login_v2: req.loginV2 && parseLogin(req.loginV2),
    permission_check_v2: req.permissionCheckV2,
    ...("debugOidcParentError" in req && {
      debug_oidc_parent_error: req.debugOidcParentError,
      console_use_v2_user_api: req.consoleUseV2UserApi,
    }),
  }
  return Object.fromEntries(
    Object.entries(requestedValues).filter(([, value]) => value !== undefined),
  )
}

function parsePerformance(requestedValues: readonly number[]): readonly number[] {
  if (requestedValues.includes(0) || new Set(requestedValues).size < requestedValues.length) {
    throw invalidError("improved_performance must contain each value once, without unspecified")
  }
  return requestedValues.toSorted((a, b) => a - b)
}

function parseLogin({ required, baseUri = "" }: AskedLogin): LoginV2 {
  if (baseUri === "") return { required }
  const url = URL.parse(baseUri)
  if (url?.protocol === "https:" || url?.protocol === "http:") return { required, baseUri }
  throw invalidError("login_v2.base_uri must be a URL that starts with https:// or http://")
}

const invalidError = (message: string) =>
  new Fault("invalid_argument", "feature.value_invalid", message)

type FeatureSource = { readonly values: Features; readonly source: Source }

/** Each feature from the first level that sets it; `all` includes unset features. */
function toFlags(levels: readonly FeatureSource[], all: boolean) {
  const found = (key: FeatureKey) => {
    const level = levels.find(({ values }) => values[key] !== undefined)
    if (level) return { value: level.values[key], source: level.source }
    return all ? { value: undefined, source: Source.UNSPECIFIED } : undefined
  }
  const flag = (key: FeatureKey) => {
    const { value, source } = found(key) ?? {}
    return source === undefined ? {} : { enabled: value === true, source }
  }
  const flags = (name: string, key: FeatureKey) => (found(key) ? { [name]: flag(key) } : {})
  const paths = found("improved_performance")
  const login = found("login_v2")
  return {
    ...flags("loginDefaultOrg", "login_default_org"),
    ...flags("userSchema", "user_schema"),
    ...flags("oidcTokenExchange", "token_exchange"),
    ...flags("debugOidcParentError", "debug_oidc_parent_error"),
    ...flags("oidcSingleV1SessionTermination", "oidc_single_v1_session_termination"),
    ...flags("enableBackChannelLogout", "enable_back_channel_logout"),
    ...flags("permissionCheckV2", "permission_check_v2"),
    ...flags("consoleUseV2UserApi", "console_use_v2_user_api"),
    ...(paths && {
      improvedPerformance: { executionPaths: pathsIn(paths.value), source: paths.source },
    }),
    ...(login && { loginV2: { ...loginIn(login.value), source: login.source } }),
  }
}

const pathsIn = (value: FeatureValue | undefined) => (Array.isArray(value) ? [...value] : [])

const loginIn = (value: FeatureValue | undefined): LoginV2 =>
  typeof value === "object" && "required" in value ? value : { required: false }

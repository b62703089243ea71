import { share } from "../../api/method.ts"
import { type LoginV2 as AskedLogin, Source } from "../../gen/core/feature/v2/feature_pb.ts"
import {
  FeatureService,
  type SetInstanceFeaturesRequest,
  type SetSystemFeaturesRequest,
} from "../../gen/core/feature/v2/feature_service_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import { details } from "../../protocol/api/answer.ts"
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

export const v2 = share<Cx>()(FeatureService, {
  setSystemFeatures: async (req, cx) => ({
    details: details(await setSystemFeatures(cx, valuesOf(req))),
  }),
  resetSystemFeatures: async (_, cx) => ({ details: details(await resetSystemFeatures(cx)) }),
  getSystemFeatures: (_, cx) => {
    const { values, receipt } = systemFeatures(cx)
    const flags = flagsOf([{ values, source: Source.SYSTEM }], false)
    return { ...flags, ...(receipt && { details: details(receipt) }) }
  },
  setInstanceFeatures: async (req, cx) => ({
    details: details(await setInstanceFeatures(cx, valuesOf(req))),
  }),
  resetInstanceFeatures: async (_, cx) => ({ details: details(await resetInstanceFeatures(cx)) }),
  getInstanceFeatures: ({ inheritance }, cx) => {
    const { values, receipt, system } = featuresOf(cx)
    const own = { values, source: Source.INSTANCE }
    const above = { values: system.values, source: Source.SYSTEM }
    const flags = flagsOf(inheritance ? [own, above] : [own], inheritance)
    return { ...flags, ...(receipt && { details: details(receipt) }) }
  },
  // The interface has no fields at these levels: there is nothing to set, and nothing to show.
  setOrganizationFeatures: () => ({}),
  resetOrganizationFeatures: () => ({}),
  getOrganizationFeatures: () => ({}),
  setUserFeatures: () => ({}),
  resetUserFeatures: () => ({}),
  getUserFeatures: () => ({}),
})

type Requested = SetSystemFeaturesRequest | SetInstanceFeaturesRequest

/** What a request says; what it leaves out is not among it. */
function valuesOf(req: Requested): Features {
  const perf = req.improvedPerformance
  const given: { readonly [Key in FeatureKey]?: FeatureValue | undefined } = {
    login_default_org: req.loginDefaultOrg,
    user_schema: req.userSchema,
    token_exchange: req.oidcTokenExchange,
    improved_performance: perf.length > 0 ? performanceOf(perf) : undefined,
    oidc_single_v1_session_termination: req.oidcSingleV1SessionTermination,
    enable_back_channel_logout: req.enableBackChannelLogout,
    login_v2: req.loginV2 && loginOf(req.loginV2),
    permission_check_v2: req.permissionCheckV2,
    ...("debugOidcParentError" in req && {
      debug_oidc_parent_error: req.debugOidcParentError,
      console_use_v2_user_api: req.consoleUseV2UserApi,
    }),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function performanceOf(given: readonly number[]): readonly number[] {
  if (given.includes(0) || new Set(given).size < given.length) {
    throw invalidError("improved_performance must name each path once, and none unspecified")
  }
  return given.toSorted((a, b) => a - b)
}

function loginOf({ required, baseUri = "" }: AskedLogin): LoginV2 {
  if (baseUri === "") return { required }
  const url = URL.parse(baseUri)
  if (url?.protocol === "https:" || url?.protocol === "http:") return { required, baseUri }
  throw invalidError("login_v2.base_uri must be an address that starts with https:// or http://")
}

const invalidError = (message: string) =>
  new Fault("invalid_argument", "feature.value_invalid", message)

type Level = { readonly values: Features; readonly source: Source }

/** Each feature as the first level says it; `all` also shows those that nobody said. */
function flagsOf(levels: readonly Level[], all: boolean) {
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

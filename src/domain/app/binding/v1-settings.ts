import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import {
  type AddOIDCSettingsRequest,
  AdminService,
  type UpdateOIDCSettingsRequest,
} from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { mergeWithStored } from "../../../protocol/api/mask.ts"
import { toDetails, valueOfEnum } from "../../../protocol/api/response.ts"
import type { Cx, DecisionContext } from "../../../store/index.ts"
import {
  addOidcSettings,
  type ClientRegistration,
  changeOidcSettings,
  consentLifetimeOf,
  findInstance,
  instance,
  type OidcSettings,
} from "../../instance/index.ts"
import { findActiveKeyId } from "../../key/index.ts"
import { project } from "../../project/index.ts"

/**
 * The OIDC settings of the instance. They are served here because they depend on signing keys and
 * projects.
 */
export const settings = bindHandlers<Cx>()(AdminService, {
  getOIDCSettings: (_, cx) => ({ settings: toSettings(cx) }),
  addOIDCSettings: async (req, cx) => ({ details: await addSettings(cx, req) }),
  updateOIDCSettings: async (req, cx) => ({ details: await updateSettings(cx, req) }),
})

type OIDCSettingsRequest = AddOIDCSettingsRequest | UpdateOIDCSettingsRequest

const checks = {
  isSigning: (tx: DecisionContext, algorithm: string) =>
    findActiveKeyId(tx, algorithm) !== undefined,
  // Projects of the system organization can't receive applications that strangers register.
  isRegistrable: (tx: DecisionContext, id: string) =>
    tx.state(project, id).status === "active" && tx.state(instance, tx.instance).projectId !== id,
}

async function addSettings(cx: Cx, req: OIDCSettingsRequest) {
  const settings = settingsOf(findInstance(cx).oidc, req)
  await addOidcSettings(cx, cx.instance, { settings, ...checks })
  return toDetails(findInstance(cx))
}

/** v1 rejects a request that changes nothing. */
async function updateSettings(cx: Cx, req: UpdateOIDCSettingsRequest) {
  await cx.store.transact(cx, (tx) => {
    const before = tx.state(instance, tx.instance)
    const settings = settingsOf(before.oidc, mergeWithStored(req, toOIDCSettings(before.oidc)))
    changeOidcSettings.within(tx, tx.instance, { settings, ...checks })
    if (tx.state(instance, tx.instance) !== before) return
    throw new Fault(
      "failed_precondition",
      "instance.oidc_settings_unchanged",
      "nothing to update: the OIDC settings already have these values",
    )
  })
  return toDetails(findInstance(cx))
}

/** The four lifetimes are required together; extension fields that are absent keep their values. */
function settingsOf(oidc: OidcSettings, req: OIDCSettingsRequest): OidcSettings {
  const { keyRotation: rotation, tokenAudit: audit } = req
  return {
    accessTokenLifetime: requireSeconds(req.accessTokenLifetime, "access_token_lifetime"),
    idTokenLifetime: requireSeconds(req.idTokenLifetime, "id_token_lifetime"),
    refreshTokenIdleExpiration: requireSeconds(
      req.refreshTokenIdleExpiration,
      "refresh_token_idle_expiration",
    ),
    refreshTokenExpiration: requireSeconds(req.refreshTokenExpiration, "refresh_token_expiration"),
    refreshTokenGrace: secondsOf(req.refreshTokenGrace) ?? oidc.refreshTokenGrace,
    idTokenAlgorithm: req.idTokenSigningAlgorithm ?? oidc.idTokenAlgorithm,
    accessTokenAlgorithm: req.accessTokenSigningAlgorithm ?? oidc.accessTokenAlgorithm,
    keyRotation: {
      enabled: rotation?.enabled ?? oidc.keyRotation.enabled,
      periodSeconds: secondsOf(rotation?.period) ?? oidc.keyRotation.periodSeconds,
      aheadSeconds: secondsOf(rotation?.publishAhead) ?? oidc.keyRotation.aheadSeconds,
    },
    serverMetadata: req.authorizationServerMetadata ?? oidc.serverMetadata,
    tokenAudit: {
      people: audit?.people ?? oidc.tokenAudit.people,
      machines: audit?.machines ?? oidc.tokenAudit.machines,
    },
    registration: registrationOf(req, oidc.registration),
  }
}

function registrationOf(
  { clientRegistration: requested }: OIDCSettingsRequest,
  before: ClientRegistration,
): ClientRegistration {
  if (!requested) return before
  return {
    mode: valueOfEnum([before.mode, ...modes], requested.mode),
    projectId: requested.projectId ?? before.projectId,
    lifetimeSeconds: secondsOf(requested.lifetime) ?? before.lifetimeSeconds,
    applicationsMax: requested.applicationsMax ?? before.applicationsMax,
    metadataDocuments: requested.metadataDocuments ?? before.metadataDocuments ?? false,
    consentLifetimeSeconds: secondsOf(requested.consentLifetime) ?? consentLifetimeOf(before),
  }
}

const modes = ["off", "token", "open"] as const

/** The enum numbers of the API. */
const modeNumbers = { off: 1, token: 2, open: 3 } as const

function toSettings(cx: Cx) {
  const found = findInstance(cx)
  return { details: toDetails(found), ...toOIDCSettings(found.oidc) }
}

function toOIDCSettings(oidc: OidcSettings) {
  const { enabled, periodSeconds, aheadSeconds } = oidc.keyRotation
  return {
    accessTokenLifetime: durationOf(oidc.accessTokenLifetime),
    idTokenLifetime: durationOf(oidc.idTokenLifetime),
    refreshTokenIdleExpiration: durationOf(oidc.refreshTokenIdleExpiration),
    refreshTokenExpiration: durationOf(oidc.refreshTokenExpiration),
    refreshTokenGrace: durationOf(oidc.refreshTokenGrace),
    idTokenSigningAlgorithm: oidc.idTokenAlgorithm,
    accessTokenSigningAlgorithm: oidc.accessTokenAlgorithm,
    keyRotation: {
      enabled,
      period: durationOf(periodSeconds),
      publishAhead: durationOf(aheadSeconds),
    },
    authorizationServerMetadata: oidc.serverMetadata,
    tokenAudit: oidc.tokenAudit,
    clientRegistration: {
      mode: modeNumbers[oidc.registration.mode],
      projectId: oidc.registration.projectId,
      lifetime: durationOf(oidc.registration.lifetimeSeconds),
      applicationsMax: oidc.registration.applicationsMax,
      metadataDocuments: oidc.registration.metadataDocuments ?? false,
      consentLifetime: durationOf(consentLifetimeOf(oidc.registration)),
    },
  }
}

function requireSeconds(duration: Duration | undefined, field: string): number {
  const seconds = secondsOf(duration)
  if (seconds !== undefined) return seconds
  const message = `${field} is required: the four lifetimes are set together`
  throw new Fault("invalid_argument", "instance.setting_missing", message)
}

const secondsOf = (duration: Duration | undefined): number | undefined =>
  duration && durationMs(duration) / 1000

const durationOf = (seconds: number): Duration => durationFromMs(seconds * 1000)

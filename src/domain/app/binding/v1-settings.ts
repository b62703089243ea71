import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import {
  type AddOIDCSettingsRequest,
  AdminService,
  type UpdateOIDCSettingsRequest,
} from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { details, meaning } from "../../../protocol/api/answer.ts"
import { mergedWith } from "../../../protocol/api/mask.ts"
import type { Cx, Decision } from "../../../store/index.ts"
import {
  addOidcSettings,
  type ClientRegistration,
  changeOidcSettings,
  consentLifetimeOf,
  findInstance,
  instance,
  type OidcSettings,
} from "../../instance/index.ts"
import { activeOf } from "../../key/index.ts"
import { project } from "../../project/index.ts"

/** How tokens are made; here, where keys that sign them, and projects, are known. */
export const settings = share<Cx>()(AdminService, {
  getOIDCSettings: (_, cx) => ({ settings: toSettings(cx) }),
  addOIDCSettings: async (req, cx) => ({ details: await add(cx, req) }),
  updateOIDCSettings: async (req, cx) => ({ details: await change(cx, req) }),
})

type Request = AddOIDCSettingsRequest | UpdateOIDCSettingsRequest

const checks = {
  isSigning: (tx: Decision, algorithm: string) => activeOf(tx, algorithm) !== undefined,
  // Nothing that a stranger has registered stands in our own project.
  isRegistrable: (tx: Decision, id: string) =>
    tx.state(project, id).status === "active" && tx.state(instance, tx.instance).projectId !== id,
}

async function add(cx: Cx, req: Request) {
  const settings = settingsOf(findInstance(cx).oidc, req)
  await addOidcSettings(cx, cx.instance, { settings, ...checks })
  return details(findInstance(cx))
}

/** v1 tells callers who change nothing so. */
async function change(cx: Cx, req: UpdateOIDCSettingsRequest) {
  await cx.store.transact(cx, (tx) => {
    const before = tx.state(instance, tx.instance)
    const settings = settingsOf(before.oidc, mergedWith(req, shownOidc(before.oidc)))
    changeOidcSettings.within(tx, tx.instance, { settings, ...checks })
    if (tx.state(instance, tx.instance) !== before) return
    throw new Fault(
      "failed_precondition",
      "instance.oidc_settings_unchanged",
      "no changes: the settings are so already",
    )
  })
  return details(findInstance(cx))
}

/** The four lifetimes belong together; what is ours may be left out, and then stays as it is. */
function settingsOf(oidc: OidcSettings, req: Request): OidcSettings {
  const { keyRotation: rotation, tokenAudit: audit } = req
  return {
    accessTokenLifetime: required(req.accessTokenLifetime, "access_token_lifetime"),
    idTokenLifetime: required(req.idTokenLifetime, "id_token_lifetime"),
    refreshTokenIdleExpiration: required(
      req.refreshTokenIdleExpiration,
      "refresh_token_idle_expiration",
    ),
    refreshTokenExpiration: required(req.refreshTokenExpiration, "refresh_token_expiration"),
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
  { clientRegistration: given }: Request,
  before: ClientRegistration,
): ClientRegistration {
  if (!given) return before
  return {
    mode: meaning([before.mode, ...modes], given.mode),
    projectId: given.projectId ?? before.projectId,
    lifetimeSeconds: secondsOf(given.lifetime) ?? before.lifetimeSeconds,
    applicationsMax: given.applicationsMax ?? before.applicationsMax,
    metadataDocuments: given.metadataDocuments ?? before.metadataDocuments ?? false,
    consentLifetimeSeconds: secondsOf(given.consentLifetime) ?? consentLifetimeOf(before),
  }
}

const modes = ["off", "token", "open"] as const

/** As the interface counts them. */
const numberOf = { off: 1, token: 2, open: 3 } as const

function toSettings(cx: Cx) {
  const found = findInstance(cx)
  return { details: details(found), ...shownOidc(found.oidc) }
}

function shownOidc(oidc: OidcSettings) {
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
      mode: numberOf[oidc.registration.mode],
      projectId: oidc.registration.projectId,
      lifetime: durationOf(oidc.registration.lifetimeSeconds),
      applicationsMax: oidc.registration.applicationsMax,
      metadataDocuments: oidc.registration.metadataDocuments ?? false,
      consentLifetime: durationOf(consentLifetimeOf(oidc.registration)),
    },
  }
}

function required(duration: Duration | undefined, field: string): number {
  const seconds = secondsOf(duration)
  if (seconds !== undefined) return seconds
  const wanted = `${field} is missing; the four lifetimes are set together`
  throw new Fault("invalid_argument", "instance.setting_missing", wanted)
}

const secondsOf = (duration: Duration | undefined): number | undefined =>
  duration && durationMs(duration) / 1000

const durationOf = (seconds: number): Duration => durationFromMs(seconds * 1000)

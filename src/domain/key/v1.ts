import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../api/method.ts"
import {
  type AddOIDCSettingsRequest,
  AdminService,
  type UpdateOIDCSettingsRequest,
} from "../../gen/core/admin/v1/admin_service_pb.ts"
import { details } from "../../kernel/answer.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import {
  addOidcSettings,
  changeOidcSettings,
  findInstance,
  instance,
  type OidcSettings,
} from "../instance/index.ts"
import { activeOf } from "./commands.ts"

/** How tokens are made; here, since what may sign them is known here. */
export const admin = share<Cx>()(AdminService, {
  getOIDCSettings: (_, cx) => ({ settings: toSettings(cx) }),
  addOIDCSettings: async (req, cx) => ({ details: await add(cx, req) }),
  updateOIDCSettings: async (req, cx) => ({ details: await change(cx, req) }),
})

type Request = AddOIDCSettingsRequest | UpdateOIDCSettingsRequest

const isSigning = (tx: Parameters<typeof activeOf>[0], algorithm: string) =>
  activeOf(tx, algorithm) !== undefined

async function add(cx: Cx, req: Request) {
  const settings = settingsOf(cx, req)
  await addOidcSettings(cx, cx.instance, { settings, isSigning })
  return details(findInstance(cx))
}

/** v1 tells callers who change nothing so. */
async function change(cx: Cx, req: Request) {
  const settings = settingsOf(cx, req)
  await cx.store.transact(cx, (tx) => {
    const before = tx.state(instance, tx.instance)
    changeOidcSettings.within(tx, tx.instance, { settings, isSigning })
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
function settingsOf(cx: Cx, req: Request): OidcSettings {
  const { oidc } = findInstance(cx)
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
  }
}

function toSettings(cx: Cx) {
  const found = findInstance(cx)
  const { oidc } = found
  const { enabled, periodSeconds, aheadSeconds } = oidc.keyRotation
  return {
    details: details(found),
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

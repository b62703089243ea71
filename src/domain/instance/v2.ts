import { share } from "../../api/method.ts"
import { State } from "../../gen/core/instance/v2/instance_pb.ts"
import { InstanceService } from "../../gen/core/instance/v2/instance_service_pb.ts"
import { SettingsService } from "../../gen/core/settings/v2/settings_service_pb.ts"
import { at, details } from "../../kernel/answer.ts"
import { version } from "../../kernel/version.ts"
import type { Cx } from "../../store/index.ts"
import { findInstance } from "./commands.ts"
import { domainsOf } from "./domain.ts"
import { setSecurity } from "./setting-change.ts"

export const v2 = share<Cx>()(InstanceService, {
  getInstance: (_, cx) => ({ instance: toInstance(cx) }),
})

export const settings = share<Cx>()(SettingsService, {
  getSecuritySettings: (_, cx) => {
    const found = findInstance(cx)
    const { enableIframeEmbedding: enabled, allowedOrigins, enableImpersonation } = found.security
    const embeddedIframe = { enabled, allowedOrigins: [...allowedOrigins] }
    return { details: details(found), settings: { embeddedIframe, enableImpersonation } }
  },
  setSecuritySettings: async ({ embeddedIframe: iframe, enableImpersonation }, cx) => {
    await setSecurity(cx, cx.instance, {
      enableIframeEmbedding: iframe?.enabled ?? false,
      allowedOrigins: iframe?.allowedOrigins ?? [],
      enableImpersonation,
    })
    return { details: details(findInstance(cx)) }
  },
})

function toInstance(cx: Cx) {
  const { id, name, created, changed } = findInstance(cx)
  return {
    id,
    name,
    version,
    state: State.RUNNING,
    creationDate: at(created),
    changeDate: at(changed),
    customDomains: domainsOf(cx, created).map(({ domain, primary, generated }) => ({
      instanceId: id,
      creationDate: at(created),
      domain,
      primary,
      generated,
    })),
  }
}

import type { MailLook } from "../../../ui/mail/index.ts"
import type { Cx } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { org } from "../org/index.ts"
import { findPolicy, label, lookAddress } from "../policy/index.ts"

/** How the mails of an organisation look: as it says, else as the instance does. */
export function mailLookOf(cx: Cx, orgId: string): MailLook {
  const { values, stand } = findPolicy(cx, orgId, label)
  const { name } = cx.store.state(cx, org, orgId)
  return {
    name: name || cx.store.state(cx, instance, cx.instance).name,
    branding: values,
    logo: shown(lookAddress(cx, stand.owner, values.logo)),
    logoDark: shown(lookAddress(cx, stand.owner, values.logoDark)),
  }
}

/** Most mail clients show no SVG; the name then stands there. */
const shown = (address: string): string => (address.endsWith(".svg") ? "" : address)

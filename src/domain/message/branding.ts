import type { MailBranding } from "../../../ui/mail/index.ts"
import type { Cx } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { org } from "../org/index.ts"
import { brandingUrl, findPolicy, label } from "../policy/index.ts"

/** The branding of an organization's emails, by default that of the instance. */
export function mailBrandingOf(cx: Cx, orgId: string): MailBranding {
  const { values, source: stand } = findPolicy(cx, orgId, label)
  const { name } = cx.store.state(cx, org, orgId)
  return {
    name: name || cx.store.state(cx, instance, cx.instance).name,
    branding: values,
    logo: supportedImage(brandingUrl(cx, stand.owner, values.logo)),
    logoDark: supportedImage(brandingUrl(cx, stand.owner, values.logoDark)),
  }
}

/** Most email clients don't show SVG; the name is shown instead. */
const supportedImage = (address: string): string => (address.endsWith(".svg") ? "" : address)

import { Button } from "../../kit/index.ts"
import { DialogOpener } from "../form/index.ts"
import { t, usePermissions } from "../shell/index.ts"
import { History } from "./history.tsx"
import type { HistoryResource } from "./history-resource.ts"

/** Singleton resources of an instance, with their titles. */
const streamKinds = {
  instance: { kind: "instance", title: "nav.instance" },
  roles: { kind: "role", title: "custom_roles.title" },
  identityProviders: { kind: "idps", title: "nav.identity-providers" },
  policies: { kind: "policy", title: "policies.title" },
  restrictions: { kind: "restrictions", title: "restrictions.title" },
  emailProviders: { kind: "message_providers", id: "email", title: "email_providers.title" },
  smsProviders: { kind: "message_providers", id: "sms", title: "sms_providers.title" },
} as const

type StreamKind = keyof typeof streamKinds

/** A resource of the instance by the kind and ID of its events. */
export const streamResource = (kind: string, id = ""): HistoryResource => ({
  case: "stream",
  value: { instance: true, kind, id },
})

/** Histories of the instance settings on a page, by kind. */
export function Histories({ of }: { readonly of: readonly StreamKind[] }) {
  if (!useSeesEvents()) return null
  return of.map((name) => {
    const { kind, title, ...more } = streamKinds[name]
    const of = streamResource(kind, "id" in more ? more.id : "")
    return <History key={name} of={of} subject={t(title)} />
  })
}

/** Callers who can read all events also see resources without an own history. */
const useSeesEvents = () => usePermissions().includes("events.read")

type ButtonProps = { readonly of: HistoryResource; readonly name: string }

/** A button that shows the history of a row. */
export function HistoryButton({ of, name }: ButtonProps) {
  const seesEvents = useSeesEvents()
  if (of.case === "stream" && !seesEvents) return null
  return (
    <DialogOpener label={t("history.title")} name={name} title={name}>
      {(close) => (
        <>
          <History of={of} />
          <div className="form-actions">
            <Button onClick={close}>{t("history.close")}</Button>
          </div>
        </>
      )}
    </DialogOpener>
  )
}

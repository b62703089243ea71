import { Button } from "../../kit/index.ts"
import { DialogOpener } from "../form/index.ts"
import { t, usePermissions } from "../shell/index.ts"
import { History } from "./history.tsx"
import type { HistoryResource } from "./history-resource.ts"

/** What an instance has one of, and by which words it is known. */
const kinds = {
  instance: { kind: "instance", title: "nav.instance" },
  roles: { kind: "role", title: "custom_roles.title" },
  identityProviders: { kind: "idps", title: "nav.identity-providers" },
  policies: { kind: "policy", title: "policies.title" },
  restrictions: { kind: "restrictions", title: "restrictions.title" },
  emailProviders: { kind: "message_providers", id: "email", title: "email_providers.title" },
  smsProviders: { kind: "message_providers", id: "sms", title: "sms_providers.title" },
} as const

type Kind = keyof typeof kinds

/** Anything of the instance, by the kind and id that its events name. */
export const streamOf = (kind: string, id = ""): HistoryResource => ({
  case: "stream",
  value: { instance: true, kind, id },
})

/** What happened to what a page shows of the instance, kind by kind. */
export function Histories({ of }: { readonly of: readonly Kind[] }) {
  if (!useSeesEvents()) return null
  return of.map((name) => {
    const { kind, title, ...more } = kinds[name]
    const of = streamOf(kind, "id" in more ? more.id : "")
    return <History key={name} of={of} what={t(title)} />
  })
}

/** Whoever may read all events of the instance sees what has no history of its own. */
const useSeesEvents = () => usePermissions().includes("events.read")

type ButtonProps = { readonly of: HistoryResource; readonly name: string }

/** What happened to one row of a list. */
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

import { useEffect, useRef, useState } from "react"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { judge, malformationOf, uriLengthMax } from "../../../src/kernel/net/redirect-uri.ts"
import { Alert } from "../../kit/alert.tsx"
import { Button } from "../../kit/button.tsx"
import { Check } from "../../kit/check.tsx"
import { DialogForm } from "../form/form.tsx"
import { useForm } from "../form/use-form.ts"
import { call, useRead } from "../shell/call.ts"
import { useMay } from "../shell/permission.ts"
import { useText } from "../shell/text.ts"
import { changeOidc, type OidcPart } from "./change.ts"
import { JudgedRedirects, wantsPrivateHttp } from "./judged.tsx"
import { appTypeOf } from "./protocol.ts"

type AddProps = { readonly applicationId: string; readonly uri: string }

/** Offers to register what an application was refused with, where it can be registered at all. */
export function AddRedirectUri({ applicationId, uri }: AddProps) {
  const { t } = useText()
  const may = useMay()
  const [open, setOpen] = useState(false)
  const { application } = useRead(ApplicationService.method.getApplication, { applicationId })
  if (application?.configuration.case !== "oidcConfiguration") return null
  const oidc = application.configuration.value
  if (oidc.redirectUris.includes(uri)) return <Added isNew={open} />
  if (!isAddable(uri) || !may(ApplicationService.method.updateApplication)) return null
  return (
    <div className="row">
      <Button small onClick={() => setOpen(true)}>
        {t("refused.add")}
      </Button>
      {open && <AddDialog {...{ application, oidc, uri }} close={() => setOpen(false)} />}
    </div>
  )
}

/** In the place of what was pressed, with the focus that was there. */
function Added({ isNew }: { readonly isNew: boolean }) {
  const { t } = useText()
  const ref = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (isNew) ref.current?.focus()
  }, [isNew])
  return (
    <p ref={ref} tabIndex={-1} className="quiet small">
      {t("refused.added")}
    </p>
  )
}

/** What was received is kept shortened: nothing that may have been cut is registered. */
const isAddable = (uri: string) =>
  uri.length < Math.min(uriLengthMax, keptLength) && malformationOf(uri, false) === undefined

const keptLength = 500

type DialogProps = OidcPart & { readonly uri: string; readonly close: () => void }

function AddDialog({ uri, close, ...part }: DialogProps) {
  const { t } = useText()
  const { application, oidc } = part
  const form = useForm({
    id: `add-redirect-uri:${uri}`,
    initial: { privateHttp: oidc.privateNetworkHttp },
    save: async ({ privateHttp }) => {
      const { applicationId } = application
      // Beside what is registered now, whoever has changed that since.
      const { application: now } = await call(ApplicationService.method.getApplication, {
        applicationId,
      })
      const known =
        now?.configuration.case === "oidcConfiguration" ? now.configuration.value.redirectUris : []
      await changeOidc(part, {
        redirectUris: [...new Set([...known, uri])],
        privateNetworkHttp: privateHttp,
      })
    },
  })
  const { privateHttp } = form.values
  const by = { appType: appTypeOf(oidc), devMode: oidc.developmentMode, privateHttp }
  const isNewHost = !oidc.redirectUris.some((known) => hostOf(known) === hostOf(uri))
  const title = t("refused.add")
  return (
    <DialogForm
      title={title}
      submit={title}
      form={form}
      onCancel={close}
      disabled={judge(uri, by, location.origin).verdict === "refused"}
    >
      <JudgedRedirects typed={uri} by={by} />
      {(privateHttp || wantsPrivateHttp(uri, by)) && (
        <Check
          label={t("field.private_http")}
          hint={t("applications.private_http_hint")}
          checked={privateHttp}
          onChange={(on) => form.change({ privateHttp: on })}
        />
      )}
      {isNewHost && <Alert tone="warning">{t("refused.add_host", { host: hostOf(uri) })}</Alert>}
      <p>{t("refused.add_text")}</p>
    </DialogForm>
  )
}

/** The host, or the scheme of an application that has its own. */
const hostOf = (uri: string) =>
  (URL.canParse(uri) && new URL(uri).host) || (uri.split(":")[0] ?? "")

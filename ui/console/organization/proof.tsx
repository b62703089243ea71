import { useState } from "react"
import { type Domain, DomainValidationType } from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { Button } from "../../kit/button.tsx"
import { Choice } from "../../kit/choice.tsx"
import { Dialog } from "../../kit/dialog.tsx"
import { Fields } from "../form/form.tsx"
import { useForm } from "../form/use-form.ts"
import { call, useAction } from "../shell/call.ts"
import { Copyable, Facts } from "../shell/detail.tsx"
import { Refused } from "../shell/refused.tsx"
import { useText } from "../shell/text.ts"

const ways = { dns: DomainValidationType.DNS, http: DomainValidationType.HTTP } as const
type Way = keyof typeof ways
const wayNames: readonly Way[] = ["dns", "http"]

/** What is to be published, and where. */
type Told = { readonly token: string; readonly url: string }

type ProofProps = { readonly domain: Domain; readonly close: () => void }

/** How to prove that a domain is one's own: a record or a file to publish, then a look at it. */
export function Proof({ domain: held, close }: ProofProps) {
  const { t } = useText()
  const { organizationId, domain, validationType } = held
  const [told, setTold] = useState<Told | undefined>(undefined)
  const form = useForm<{ readonly way: Way }>({
    id: `proof ${domain}`,
    initial: { way: validationType === DomainValidationType.HTTP ? "http" : "dns" },
    save: async ({ way }) => {
      const wanted = { organizationId, domain, type: ways[way] }
      setTold(await call(OrganizationService.method.generateOrganizationDomainValidation, wanted))
    },
  })
  const { way } = form.values
  const title = t("domains.prove_title", { domain })
  return (
    <Dialog title={title} onClose={close}>
      {told ? (
        <Publish {...{ way, told, domain: held, close }} />
      ) : (
        <Fields form={form} submit={t("domains.show")} onCancel={close}>
          <Choice
            legend={t("domains.way")}
            name="way"
            options={wayNames.map((value) => ({
              value,
              label: t(`domains.${value}`),
              hint: t(`domains.${value}.hint`),
            }))}
            value={way}
            onChange={(chosen) => form.change({ way: chosen })}
          />
          {validationType !== DomainValidationType.UNSPECIFIED && (
            <p className="quiet small">{t("domains.again")}</p>
          )}
        </Fields>
      )}
    </Dialog>
  )
}

type PublishProps = ProofProps & { readonly way: Way; readonly told: Told }

function Publish({ way, told, domain: held, close }: PublishProps) {
  const { t } = useText()
  const { organizationId, domain } = held
  const check = useAction(
    () => call(OrganizationService.method.verifyOrganizationDomain, { organizationId, domain }),
    close,
  )
  const [where, what] = [t(`domains.${way}.where`), t(`domains.${way}.what`)]
  return (
    <div className="stack">
      <p>{t(`domains.${way}.lead`)}</p>
      <Facts
        rows={[
          [where, <Copyable key="where" value={told.url} what={where} />],
          [t("domains.dns.type"), way === "dns" && <code>TXT</code>],
          [what, <Copyable key="what" value={told.token} what={what} />],
        ]}
      />
      <p className="quiet small">{t("domains.later")}</p>
      <Refused refusal={check.refusal} />
      <div className="form-actions">
        <Button kind="primary" disabled={check.busy} onClick={() => check.run()}>
          {t("domains.check")}
        </Button>
        <Button onClick={close}>{t("domains.done")}</Button>
      </div>
    </div>
  )
}

import { useState } from "react"
import { type Domain, DomainValidationType } from "../../../src/gen/core/org/v2/org_pb.ts"
import { Alert } from "../../kit/alert.tsx"
import { Button } from "../../kit/button.tsx"
import { Choice } from "../../kit/choice.tsx"
import { Dialog } from "../../kit/dialog.tsx"
import type { FormPart } from "../collection.tsx"
import { Copyable } from "../detail.tsx"
import { ActionForm } from "../form.tsx"
import { useHouse } from "../house.ts"
import { useAction } from "../load.ts"

const ways = { dns: DomainValidationType.DNS, http: DomainValidationType.HTTP } as const
type Way = keyof typeof ways
const wayNames: readonly Way[] = ["dns", "http"]

/** What is to be published, and where. */
type Told = { readonly token: string; readonly url: string }

type ProofProps = FormPart & { readonly domain: Domain }

/** How to prove that a domain is one's own: a record or a file to publish, then a look at it. */
export function Proof({ domain: held, onChanged, close }: ProofProps) {
  const { t, core } = useHouse()
  const { organizationId, domain, validationType } = held
  const [way, setWay] = useState<Way>(validationType === DomainValidationType.HTTP ? "http" : "dns")
  const [told, setTold] = useState<Told | undefined>(undefined)
  const ask = useAction(async () => {
    const wanted = { organizationId, domain, type: ways[way] }
    setTold(await core.organizations.generateOrganizationDomainValidation(wanted))
    await onChanged()
  })
  const title = t("domains.prove_title", { domain })
  return (
    <Dialog title={title} onClose={close}>
      {told ? (
        <Publish {...{ way, told, organizationId, domain, onChanged, close }} />
      ) : (
        <ActionForm action={ask} submit={t("domains.show")} onCancel={close}>
          <Choice
            legend={t("domains.way")}
            name="way"
            options={wayNames.map((value) => ({
              value,
              label: t(`domains.${value}`),
              hint: t(`domains.${value}.hint`),
            }))}
            value={way}
            onChange={setWay}
          />
          {validationType !== DomainValidationType.UNSPECIFIED && (
            <p className="quiet small">{t("domains.again")}</p>
          )}
        </ActionForm>
      )}
    </Dialog>
  )
}

type PublishProps = FormPart & {
  readonly way: Way
  readonly told: Told
  readonly organizationId: string
  readonly domain: string
}

function Publish({ way, told, organizationId, domain, onChanged, close }: PublishProps) {
  const { t, core } = useHouse()
  const check = useAction(async () => {
    await core.organizations.verifyOrganizationDomain({ organizationId, domain })
    await onChanged()
    close()
  })
  return (
    <div className="stack">
      <p>{t(`domains.${way}.lead`)}</p>
      <dl className="facts">
        <dt>{t(`domains.${way}.where`)}</dt>
        <dd>
          <Copyable value={told.url} what={t(`domains.${way}.where`)} />
        </dd>
        {way === "dns" && (
          <>
            <dt>{t("domains.dns.type")}</dt>
            <dd>
              <code>TXT</code>
            </dd>
          </>
        )}
        <dt>{t(`domains.${way}.what`)}</dt>
        <dd>
          <Copyable value={told.token} what={t(`domains.${way}.what`)} />
        </dd>
      </dl>
      <p className="quiet small">{t("domains.later")}</p>
      {check.error && <Alert tone="danger">{check.error}</Alert>}
      <div className="form-actions">
        <Button kind="primary" disabled={check.busy} onClick={check.run}>
          {t("domains.check")}
        </Button>
        <Button onClick={close}>{t("domains.done")}</Button>
      </div>
    </div>
  )
}

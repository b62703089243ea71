import { useState } from "react"
import { type Domain, DomainValidationType } from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { Button, Dialog } from "../../kit/index.ts"
import { formOf } from "../form/index.ts"
import { call, copied, Facts, Refused, t, useAction } from "../shell/index.ts"

const ways = { dns: DomainValidationType.DNS, http: DomainValidationType.HTTP } as const
type Way = keyof typeof ways
const wayNames: readonly Way[] = ["dns", "http"]

/** What is to be published, and where. */
type Told = { readonly token: string; readonly url: string }

type ProofProps = { readonly domain: Domain; readonly close: () => void }

/** How to prove that a domain is one's own: a record or a file to publish, then a look at it. */
export function Proof({ domain: held, close }: ProofProps) {
  const { organizationId, domain, validationType } = held
  const [told, setTold] = useState<Told | undefined>(undefined)
  const given: Way = validationType === DomainValidationType.HTTP ? "http" : "dns"
  const [way, setWay] = useState(given)
  const form = formOf({
    initial: { way: given },
    save: async ({ way: chosen }) => {
      const wanted = { organizationId, domain, type: ways[chosen] }
      setTold(await call(OrganizationService.method.generateOrganizationDomainValidation, wanted))
      setWay(chosen)
    },
    done: () => {},
    submit: t("domains.show"),
    fields: ({ choice }) => [
      choice("way", t("domains.way"), {
        of: wayNames,
        words: (one) => t(`domains.${one}`),
        hints: (one) => t(`domains.${one}.hint`),
      }),
      validationType !== DomainValidationType.UNSPECIFIED && (
        <p className="quiet small">{t("domains.again")}</p>
      ),
    ],
  })
  const title = t("domains.prove_title", { domain })
  return (
    <Dialog title={title} onClose={close}>
      {told ? (
        <Publish {...{ way, told, domain: held, close }} />
      ) : (
        form({ id: `proof ${domain}`, close })
      )}
    </Dialog>
  )
}

type PublishProps = ProofProps & { readonly way: Way; readonly told: Told }

function Publish({ way, told, domain: held, close }: PublishProps) {
  const { organizationId, domain } = held
  const check = useAction(
    () => call(OrganizationService.method.verifyOrganizationDomain, { organizationId, domain }),
    close,
  )
  return (
    <div className="stack">
      <p>{t(`domains.${way}.lead`)}</p>
      <Facts
        rows={[
          copied(t(`domains.${way}.where`), told.url),
          [t("domains.dns.type"), way === "dns" && <code>TXT</code>],
          copied(t(`domains.${way}.what`), told.token),
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

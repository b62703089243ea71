import { useState } from "react"
import { type Domain, DomainValidationType } from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { Button } from "../../kit/index.ts"
import { formOf } from "../form/index.ts"
import { call, copied, Facts, RefusalAlert, t, useAction } from "../shell/index.ts"

const methods = { dns: DomainValidationType.DNS, http: DomainValidationType.HTTP } as const
type Method = keyof typeof methods
const methodNames: readonly Method[] = ["dns", "http"]

/** What is to be published, and where. */
type Instructions = { readonly token: string; readonly url: string }

type ValidationProps = { readonly domain: Domain; readonly close: () => void }

/** How to prove that a domain is one's own: a record or a file to publish, then a look at it. */
export function DomainValidation({ domain: held, close }: ValidationProps) {
  const { organizationId, domain, validationType } = held
  const [instructions, setInstructions] = useState<Instructions | undefined>(undefined)
  const given: Method = validationType === DomainValidationType.HTTP ? "http" : "dns"
  const [way, setMethod] = useState(given)
  const form = formOf({
    initial: { way: given },
    save: async ({ way: chosen }) => {
      const wanted = { organizationId, domain, type: methods[chosen] }
      setInstructions(
        await call(OrganizationService.method.generateOrganizationDomainValidation, wanted),
      )
      setMethod(chosen)
    },
    done: () => {},
    submit: t("domains.show"),
    fields: ({ choice }) => [
      choice("way", t("domains.way"), {
        of: methodNames,
        words: (one) => t(`domains.${one}`),
        hints: (one) => t(`domains.${one}.hint`),
      }),
      validationType !== DomainValidationType.UNSPECIFIED && (
        <p className="quiet small">{t("domains.again")}</p>
      ),
    ],
  })
  if (!instructions) return form({ id: `proof ${domain}`, close })
  return <Publish way={way} instructions={instructions} domain={held} close={close} />
}

type PublishProps = ValidationProps & { readonly way: Method; readonly instructions: Instructions }

function Publish({ way, instructions, domain: held, close }: PublishProps) {
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
          copied(t(`domains.${way}.where`), instructions.url),
          [t("domains.dns.type"), way === "dns" && <code>TXT</code>],
          copied(t(`domains.${way}.what`), instructions.token),
        ]}
      />
      <p className="quiet small">{t("domains.later")}</p>
      <RefusalAlert refusal={check.refusal} />
      <div className="form-actions">
        <Button kind="primary" disabled={check.busy} onClick={() => check.run()}>
          {t("domains.check")}
        </Button>
        <Button onClick={close}>{t("domains.done")}</Button>
      </div>
    </div>
  )
}

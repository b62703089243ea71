import { useSuspenseQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Button, Check } from "../../kit/index.ts"
import { callJson, Link, type LinkOptions, Section, t } from "../shell/index.ts"

const keyCopiedStorageKey = "latchkey.checklist.key_copied"

/** First steps after setup. Completed steps are detected from existing data where possible. */
export function Checklist({ close }: { readonly close: () => void }) {
  const [hasCopy, setCopy] = useState(() => localStorage.getItem(keyCopiedStorageKey) !== null)
  const { hasApplication, hasPerson, hasSignedIn } = useProgress()
  const turnCopy = (on: boolean) => {
    if (on) localStorage.setItem(keyCopiedStorageKey, "1")
    else localStorage.removeItem(keyCopiedStorageKey)
    setCopy(on)
  }
  const isComplete = hasApplication && hasPerson && hasSignedIn && hasCopy
  return (
    <Section
      title={t("start.title")}
      actions={
        <Button small onClick={close}>
          {t("start.put_away")}
        </Button>
      }
    >
      {isComplete && <p className="section-lead">{t("start.over")}</p>}
      <ol className="steps">
        <Step done={hasApplication} step="application" link={{ to: "/applications/new" }} />
        <Step done={hasPerson} step="person" link={{ to: "/users/new" }} />
        <Step done={hasSignedIn} step="sign_in" link={{ to: "/applications" }} />
        <li>
          <Check
            label={t("start.key")}
            hint={t("start.key_hint")}
            checked={hasCopy}
            onChange={turnCopy}
          />
        </li>
      </ol>
    </Section>
  )
}

type StepProps = {
  readonly done: boolean
  readonly step: "application" | "person" | "sign_in"
  readonly link: LinkOptions
}

function Step({ done, step, link }: StepProps) {
  return (
    <li className={done ? "step step-done" : "step"}>
      <span className="step-mark" aria-hidden="true">
        {done ? "✓" : ""}
      </span>
      <span>
        <Link {...link}>{t(`start.${step}`)}</Link>{" "}
        <span className="visually-hidden">{t(done ? "start.done" : "start.open")}</span>
        <span className="quiet small step-hint">{t(`start.${step}_hint`)}</span>
      </span>
    </li>
  )
}

/** Completed steps; one row of each list is sufficient. */
function useProgress() {
  const one = { limit: 1 }
  const { data } = useSuspenseQuery({
    queryKey: ["first steps"],
    queryFn: ({ signal }) =>
      Promise.all([
        fetchCount("core.application.v2.ApplicationService/ListApplications", signal, {
          pagination: one,
          filters: [{ internalFilter: false }],
        }),
        fetchCount("core.user.v2.UserService/ListUsers", signal, {
          query: one,
          queries: [{ typeQuery: { type: "TYPE_HUMAN" } }],
        }),
        fetchCount("core.activity.v2.ActivityService/ListApplicationUses", signal, {
          pagination: one,
        }),
      ]),
  })
  const [applications, people, uses] = data
  return {
    hasApplication: applications > 0,
    // The administrator who did the setup is the first user.
    hasPerson: people > 1,
    hasSignedIn: uses > 0,
  }
}

type Total = { readonly totalResult?: string }
type ListAnswer = { readonly pagination?: Total; readonly details?: Total }

/** The number of entries of a list. */
async function fetchCount(method: string, signal: AbortSignal, body: object): Promise<number> {
  const answer: ListAnswer | undefined = await callJson(method, body, { signal })
  return Number((answer?.pagination ?? answer?.details)?.totalResult ?? 0)
}

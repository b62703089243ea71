import type { Finding } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { Disclosure } from "../../kit/index.ts"
import { t } from "../shell/index.ts"
import { type Cut, cutOf, visible } from "./difference.ts"

/** What came beside what was expected, with the characters that differ. */
export function Comparison({ finding }: { readonly finding: Finding }) {
  const { received, expected, nearest } = finding
  if (received === "" && expected.length === 0) return null
  const fits = expected.includes(received)
  const differs = nearest !== "" && !fits && finding.sameStart + finding.sameEnd > 0
  const others = differs ? expected.filter((text) => text !== nearest) : []
  return (
    <>
      <dl className="compared">
        <dt>{t("refused.received")}</dt>
        <dd>
          {received === "" && <span className="said">{t("refused.nothing_sent")}</span>}
          {differs ? <Marked cut={cutOf(received, finding)} side="received" /> : received}
        </dd>
        {expected.length > 0 && !fits && (
          <>
            <dt>{t("refused.expected")}</dt>
            <dd>
              {differs ? (
                <Marked cut={cutOf(nearest, finding)} side="expected" />
              ) : (
                <Lines texts={expected} />
              )}
            </dd>
          </>
        )}
      </dl>
      {others.length > 0 && (
        <Disclosure summary={t("refused.others", { count: others.length })}>
          <code>
            <Lines texts={others} />
          </code>
        </Disclosure>
      )}
    </>
  )
}

function Lines({ texts }: { readonly texts: readonly string[] }) {
  return (
    <ul className="value-list">
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  )
}

type MarkedProps = { readonly cut: Cut; readonly side: "received" | "expected" }

/** Colour alone says nothing to many: the piece is underlined, and where one lacks it is a gap. */
function Marked({ cut, side }: MarkedProps) {
  const { before, differs, after } = cut
  return (
    <>
      {before}
      {differs === "" ? (
        <span className={`gap gap-${side}`} role="img" aria-label={t("refused.gap")} />
      ) : (
        <mark className={`differs differs-${side}`}>{visible(differs)}</mark>
      )}
      {after}
    </>
  )
}

import type { Finding } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { Disclosure } from "../../kit/index.ts"
import { t } from "../shell/index.ts"
import { makeVisible, type SplitText, splitAtDifference } from "./difference.ts"

/** The received and expected texts, with the differing characters. */
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
          {differs ? (
            <MarkedText cut={splitAtDifference(received, finding)} side="received" />
          ) : (
            received
          )}
        </dd>
        {expected.length > 0 && !fits && (
          <>
            <dt>{t("refused.expected")}</dt>
            <dd>
              {differs ? (
                <MarkedText cut={splitAtDifference(nearest, finding)} side="expected" />
              ) : (
                <TextLines texts={expected} />
              )}
            </dd>
          </>
        )}
      </dl>
      {others.length > 0 && (
        <Disclosure summary={t("refused.others", { count: others.length })}>
          <code>
            <TextLines texts={others} />
          </code>
        </Disclosure>
      )}
    </>
  )
}

function TextLines({ texts }: { readonly texts: readonly string[] }) {
  return (
    <ul className="value-list">
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  )
}

type MarkedTextProps = { readonly cut: SplitText; readonly side: "received" | "expected" }

/**
 * The differing part is underlined, and a missing one is a gap, because color alone is not
 * accessible.
 */
function MarkedText({ cut: split, side }: MarkedTextProps) {
  const { before, different: differs, after } = split
  return (
    <>
      {before}
      {differs === "" ? (
        <span className={`gap gap-${side}`} role="img" aria-label={t("refused.gap")} />
      ) : (
        <mark className={`differs differs-${side}`}>{makeVisible(differs)}</mark>
      )}
      {after}
    </>
  )
}

import { encode } from "uqr"

type QrCodeProps = { readonly text: string; readonly label: string }

/** A QR code, rendered as elements because the content security policy disallows data URLs. */
export function QrCode({ text, label }: QrCodeProps) {
  // The quiet zone required by ISO/IEC 18004.
  const { data, size } = encode(text, { ecc: "M", border: 4 })
  const dots = data.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])),
  )
  return (
    <svg
      className="qr"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
    >
      <path d={dots.join("")} />
    </svg>
  )
}

import { encode } from "uqr"

type QrCodeProps = { readonly text: string; readonly label: string }

/** A text for a camera: drawn as elements, for the page's policy takes no picture of elsewhere. */
export function QrCode({ text, label }: QrCodeProps) {
  // The quiet zone that ISO/IEC 18004 asks for.
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

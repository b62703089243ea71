import { connect, createServer, type Socket } from "node:net"
import type { Clock } from "../../../kernel/clock.ts"
import { type Address, formatAddress } from "../../../kernel/net/address.ts"
import type { PortFront } from "../../listener.ts"
import { helloBytesMax, parseClientHello } from "./client-hello.ts"
import { acmeError } from "./problem.ts"

/** RFC 8737 §3: the only protocol of validating clients. */
export const acmeProtocol = "acme-tls/1"

/**
 * The time limit for the ClientHello, and the number of concurrent connections that wait for it.
 */
const helloMs = 5000
const inspectedMax = 256
/** An authority connects from a few locations and sends nothing after the handshake. */
const validationMs = 10_000
const validationsMax = 64
/** Idle connections are closed after this time; the listener closes its own after half a minute. */
const idleMs = 60_000

type RelayParts = {
  readonly clock: Clock
  /** The ports on this machine that answer validations, by host. */
  readonly validations: ReadonlyMap<string, number>
}

/**
 * Listens in place of the public listener: connects validating clients to the validation server,
 * and passes all other connections to `port` unchanged, including those whose ClientHello is
 * invalid, too large or late. The listener can query the client address of a connection.
 */
export function openRelay(ground: RelayParts, address: Address, port: number): PortFront {
  const { clock, validations } = ground
  const peers = new Map<number, string>()
  /** Functions that pass on connections that are still inspected, oldest first. */
  const inspected = new Set<() => void>()
  let validating = 0
  const passOn = (socket: Socket, sent: Buffer) => {
    const behind = connectTo(socket, sent, port)
    behind.once("connect", () => {
      const { localPort = 0 } = behind
      peers.set(localPort, socket.remoteAddress ?? "")
      behind.once("close", () => peers.delete(localPort))
    })
    closeWhenIdle(clock, socket, behind)
  }
  const validate = (socket: Socket, sent: Buffer, at: number) => {
    if (validating === validationsMax) return void socket.destroy()
    validating++
    connectTo(socket, sent, at)
    const timer = clock.after(validationMs, () => socket.destroy())
    socket.once("close", () => {
      validating--
      timer.stop()
    })
  }
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const [longest] = inspected
    if (inspected.size === inspectedMax) longest?.()
    inspect(clock, { socket, lookedAt: inspected }, (sent) => {
      const at = validationPortFor(validations, sent)
      if (at === undefined) passOn(socket, sent)
      else validate(socket, sent, at)
    })
  })
  // Listen errors are also emitted later, after they were already handled.
  server.on("error", () => undefined)
  server.listen(address.port, address.host)
  if (!server.listening) {
    throw acmeError(`could not listen on ${formatAddress(address)} for the validation`, "listen")
  }
  return {
    peerOfPort: (from) => peers.get(from),
    stop: () => {
      server.close()
      for (const settle of inspected) settle()
    },
  }
}

type Inspection = {
  readonly socket: Socket
  readonly lookedAt: Set<() => void>
}

/** Reads until the destination is known, at most until the time limit. */
function inspect(
  clock: Clock,
  { socket, lookedAt: inspected }: Inspection,
  then: (sent: Buffer) => void,
) {
  let sent = Buffer.alloc(0)
  const leave = () => {
    timer.stop()
    inspected.delete(settle)
    socket.off("data", read).off("end", settle).off("close", leave)
  }
  const settle = () => {
    leave()
    socket.pause()
    then(sent)
  }
  const read = (data: Buffer) => {
    sent = Buffer.concat([sent, data])
    if (parseClientHello(sent) !== "more" || sent.length >= helloBytesMax) settle()
  }
  const timer = clock.after(helloMs, settle)
  inspected.add(settle)
  socket.on("error", () => socket.destroy())
  socket.on("data", read).on("end", settle).on("close", leave)
}

/** RFC 8737 §3: exactly one name and one protocol; other clients are browsers. */
function validationPortFor(
  validations: RelayParts["validations"],
  sent: Buffer,
): number | undefined {
  const hello = parseClientHello(sent)
  if (hello === undefined || hello === "more" || hello.host === undefined) return undefined
  const isValidation = hello.protocols.length === 1 && hello.protocols[0] === acmeProtocol
  return isValidation ? validations.get(hello.host) : undefined
}

/** Connects a client to a port on this machine and forwards the bytes already read. */
function connectTo(socket: Socket, sent: Buffer, port: number): Socket {
  const behind = connect({ host: "127.0.0.1", port, allowHalfOpen: true, noDelay: true })
  behind.once("connect", () => {
    if (sent.length > 0) behind.write(sent)
    socket.pipe(behind)
    behind.pipe(socket)
  })
  behind.on("error", () => socket.destroy())
  socket.once("close", () => behind.destroy())
  return behind
}

/** A client that stops reading would otherwise hold two connections indefinitely. */
function closeWhenIdle(clock: Clock, socket: Socket, behind: Socket): void {
  let before = 0
  const checkActivity = () => {
    const count = socket.bytesRead + behind.bytesRead
    if (count === before) return void socket.destroy()
    before = count
    timer = clock.after(idleMs, checkActivity)
  }
  let timer = clock.after(idleMs, checkActivity)
  socket.once("close", () => timer.stop())
}

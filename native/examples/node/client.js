// recolva from Node, by koffi. 64-bit integers are BigInt.
import koffi from 'koffi';
import { readFileSync } from 'node:fs';

const ABI_VERSION = 1;
const POWER_LAW = 1;
const NOW = 87_400_000n;
const DAY = 86_400_000n;
const ROWS = 100;

// The prototypes are those of recolva.h; typed arrays are passed where it has pointers, without a copy.
const library = koffi.load(process.env.RECOLVA_LIBRARY ?? 'librecolva.so');
const abiVersion = library.func('int32_t RecolvaAbiVersion()');
const scoreExponential = library.func(
  'int32_t DecayScoreExponential(int64_t last, int64_t now, int64_t half_life, _Inout_ double* out)');
const scorePowerLaw = library.func(
  'int32_t DecayScorePowerLaw(int64_t last, int64_t now, int64_t scale, double exponent, double importance, _Inout_ double* out)');
const scoreExponentialBatch = library.func(
  'int32_t DecayScoreExponentialBatch(const int64_t* last, int64_t count, int64_t now, int64_t half_life, _Inout_ double* out)');
const scorePowerLawBatch = library.func(
  `int32_t DecayScorePowerLawBatch(const int64_t* last, const double* importance, int64_t count, int64_t now, int64_t scale,
     double exponent, _Inout_ double* out)`);
const scanBlock = library.func(
  `int32_t RecolvaScanBlock(const uint8_t* data, int64_t length, int32_t at_end, int32_t model, const double* parameters,
     int32_t parameter_count, int64_t now, double threshold, int64_t capacity, _Inout_ int64_t* line_start,
     _Inout_ int64_t* line_end, _Inout_ int64_t* id_start, _Inout_ int64_t* id_end, _Inout_ int64_t* last_accessed,
     _Inout_ double* score, _Inout_ uint8_t* prune, _Inout_ int64_t* records, _Inout_ int64_t* blanks,
     _Inout_ int64_t* consumed, _Inout_ int64_t* bad_line)`);

function check(status) {
  if (status !== 0) throw new RangeError(`recolva: status ${status}`);
}

// Prints one score of each model, and a batch.
function score() {
  const one = new Float64Array(1), other = new Float64Array(1), many = new Float64Array(3);
  check(scoreExponential(1_000_000n, NOW, DAY, one));
  check(scorePowerLaw(1_000_000n, NOW, DAY, 1, 0.5, other));
  check(scoreExponentialBatch(BigInt64Array.of(1_000_000n, -85_400_000n, -171_800_000n), 3, NOW, DAY, many));
  console.log(`exponential ${one[0]}\npower-law ${other[0]}\nbatch ${many.join(' ')}`);
}

function hex(x) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  return view.getBigUint64(0).toString(16).padStart(16, '0');
}

function fromHex(text) {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(`0x${text}`));
  return view.getFloat64(0);
}

// Prints id, score and decision of each memory in a JSONL file, a block of rows at a time.
function scan(name) {
  let data = readFileSync(name);
  if (data.subarray(0, 3).equals(Buffer.of(0xef, 0xbb, 0xbf))) data = data.subarray(3); // belongs to no line
  const [lineStart, lineEnd, idStart, idEnd, lastAccessed] = Array.from({ length: 5 }, () => new BigInt64Array(ROWS));
  const scores = new Float64Array(ROWS), prune = new Uint8Array(ROWS);
  const [records, blanks, consumed, badLine] = Array.from({ length: 4 }, () => new BigInt64Array(1));
  const parameters = Float64Array.of(86_400_000, 1); // scale_ms, exponent
  let memories = 0n, lines = 0n;
  do {
    check(scanBlock(data, data.length, 1, POWER_LAW, parameters, 2, NOW, 0.3, ROWS, lineStart, lineEnd, idStart, idEnd,
      lastAccessed, scores, prune, records, blanks, consumed, badLine));
    for (let i = 0; i < records[0]; i++) {
      const id = data.toString('utf8', Number(idStart[i]), Number(idEnd[i]));
      process.stdout.write(`${id}\t${hex(scores[i])}\t${prune[i]}\n`);
    }
    if (badLine[0] !== 0n) throw new Error(`line ${lines + badLine[0]} is not valid`);
    data = data.subarray(Number(consumed[0]));
    memories += records[0];
    lines += records[0] + blanks[0];
  } while (data.length > 0);
  console.log(`${memories} memories, ${lines - memories} blank lines`);
}

// Answers each line of standard input with status and score, of a single call and of a batch.
function vectors() {
  for (const line of readFileSync(0, 'utf8').trim().split('\n')) {
    const [model, last, now, millis, exponent, importance] = line.split(' ');
    const integers = [last, now, millis].map(BigInt), times = BigInt64Array.of(integers[0]);
    const single = Float64Array.of(-7.25), batch = Float64Array.of(-7.25);
    let status, batchStatus;
    if (model === 'exponential') {
      status = scoreExponential(...integers, single);
      batchStatus = scoreExponentialBatch(times, 1, integers[1], integers[2], batch);
    } else {
      status = scorePowerLaw(...integers, fromHex(exponent), fromHex(importance), single);
      batchStatus = scorePowerLawBatch(times, Float64Array.of(fromHex(importance)), 1, integers[1], integers[2],
        fromHex(exponent), batch);
    }
    process.stdout.write(`${status} ${hex(single[0])} ${batchStatus} ${hex(batch[0])}\n`);
  }
}

try {
  if (abiVersion() !== ABI_VERSION) throw new Error(`ABI version must be ${ABI_VERSION}, got ${abiVersion()}`);
  if (process.argv.length !== 3) throw new Error('usage: client FILE.jsonl | client --vectors');
  if (process.argv[2] === '--vectors') vectors();
  else { score(); scan(process.argv[2]); }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

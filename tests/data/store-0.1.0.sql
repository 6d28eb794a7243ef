BEGIN TRANSACTION;
CREATE TABLE accesses (record integer primary key, count integer not null, last integer not null);
INSERT INTO "accesses" VALUES(2,1,1794741194290200);
INSERT INTO "accesses" VALUES(3,1,1794741194290200);
INSERT INTO "accesses" VALUES(6,1,1794741194290200);
INSERT INTO "accesses" VALUES(7,1,1794741194290200);
INSERT INTO "accesses" VALUES(9,1,1794741194290200);
INSERT INTO "accesses" VALUES(11,1,1794741194290200);
INSERT INTO "accesses" VALUES(12,1,1794741194290200);
INSERT INTO "accesses" VALUES(14,1,1794741194290200);
CREATE TABLE contents (
    content integer primary key,
    text text not null,
    payload text not null,
    salt blob not null
);
INSERT INTO "contents" VALUES(2,'staging listens on port 5433','{}',X'BA6CC7BE700F756217469D1343A07932');
INSERT INTO "contents" VALUES(3,'git: merge style: merge','{"domain":"git","name":"merge style","value":"merge"}',X'4B6B9E27A80664649F0795DF5C362133');
INSERT INTO "contents" VALUES(5,'git: merge style: rebase','{"domain":"git","name":"merge style","value":"rebase"}',X'8AD77684F3C6BFE9C83F6AA58F67C8CC');
INSERT INTO "contents" VALUES(6,'hello','{"index":0,"metadata":{},"role":"user"}',X'D57F03FCF229DF75CE8D83DA304B2C71');
INSERT INTO "contents" VALUES(7,'what changed?','{"index":1,"metadata":{},"role":"user"}',X'C57604881FB9BBDF619EFE5802E2DCBC');
INSERT INTO "contents" VALUES(9,'the port','{"index":2,"metadata":{},"role":"user"}',X'F2B48B68881B087663AA778365E4F6D1');
INSERT INTO "contents" VALUES(11,'Ada','{"aliases":[],"name":"Ada","properties":{},"type":"Person"}',X'F0272597977B3999614A5C66E750474C');
INSERT INTO "contents" VALUES(12,'Ada is on call','{"entity_ids":["01m7fejkg67sekqhw6pkw7wev4"]}',X'F43AB6F721A67EFD18E6E10B53F0ACD3');
INSERT INTO "contents" VALUES(14,'upgrade Postgres','{"blocked_by":[],"priority":3,"status":"active"}',X'E454B7C03099709F63524B18437A1900');
CREATE TABLE fields (
    name integer not null, value not null, content integer not null,
    primary key (name, value, content)
) without rowid;
INSERT INTO "fields" VALUES(8,'git',3);
INSERT INTO "fields" VALUES(9,'merge style',3);
INSERT INTO "fields" VALUES(8,'git',5);
INSERT INTO "fields" VALUES(9,'merge style',5);
INSERT INTO "fields" VALUES(11,0,6);
INSERT INTO "fields" VALUES(12,'user',6);
INSERT INTO "fields" VALUES(11,1,7);
INSERT INTO "fields" VALUES(12,'user',7);
INSERT INTO "fields" VALUES(11,2,9);
INSERT INTO "fields" VALUES(12,'user',9);
INSERT INTO "fields" VALUES(9,'Ada',11);
INSERT INTO "fields" VALUES(15,'Person',11);
INSERT INTO "fields" VALUES(19,'active',14);
INSERT INTO "fields" VALUES(20,3,14);
CREATE TABLE journal (
    seq integer primary key,
    at integer not null,
    operation integer not null,
    scope integer not null,
    record integer,
    other integer,
    actor integer not null,
    reason text,
    digest blob not null,
    chain blob not null
);
INSERT INTO "journal" VALUES(1,0,7,0,NULL,NULL,1,'all-MiniLM-L6-v2@int8-g1/384',X'',X'084D58F3092234792C87C7FE0A457EE7BC6CDA5551630153281CC8EF1798D647');
INSERT INTO "journal" VALUES(2,1794741193686407,1,1,2,NULL,2,NULL,X'25D99B45B90B3261CF910D52F06BDFCA8F3439438F48A631D9ACD769FD3F764F',X'3138F8F0F71294AE397A3A3EDDFD533C9683661ED5D96D4E998C741B42A04231');
INSERT INTO "journal" VALUES(3,1794741194197461,1,1,3,NULL,2,NULL,X'00D7F863942717D32BC10C782638CE162A9962D1396B1C63F855E5DBC9762A9B',X'FEF27C24008C45B64E7ABFA4D68E921D8045CA1A59ACC8876DC97087BC86DF31');
INSERT INTO "journal" VALUES(4,1794741194208268,2,1,3,NULL,2,NULL,X'B8DA89B0C3EE062701A283D33E38D8527F64CA9C3C7D329EC7F35A3F122C5693',X'3C4BA2D2BC39FFF8066B7DBECCD867EB3A78CD79DC700B3562709EBCA1093302');
INSERT INTO "journal" VALUES(5,1794741194208268,1,1,3,NULL,2,NULL,X'3C26E66609A685D03C76A8201A4BF52D0332B36E851A58A6679CAF7A22D46163',X'5B61F91431EAE19B1DE3C6F2E0030C3340BC60C0C012FD8B0E78F870656F831C');
INSERT INTO "journal" VALUES(6,1794741194218130,1,1,6,NULL,2,NULL,X'DAE6740FEA9CFA03D47198D44F49F0AD9BD27AEA5BC2E62950F0F671F9DF626A',X'6172ED23E2A43B7E693B6EB45584089D9EB8278772A14A4FBAE9E6BAA106DB59');
INSERT INTO "journal" VALUES(7,1794741194226845,1,1,7,NULL,2,NULL,X'12AE11F7B1191706653DDF2B5DECA3989EC90E6603A828F1481D65478EE5D09C',X'A962FEA1FA7036F67563B36CF1FC7105EA3AE49E7E5901136F2A3EBB9AA5EA8D');
INSERT INTO "journal" VALUES(8,1794741194226845,3,1,6,7,2,NULL,X'4228126E38A840512DF20CDDDB34E6FF25C3C512CE8CD1984B12CD6B6C2C591A',X'A226A00CC5D8A51C12F0AEED90620BCA30BDE536F249AF5F8294C570D760F369');
INSERT INTO "journal" VALUES(9,1794741194239586,1,1,9,NULL,2,NULL,X'93336E9221CE7F1F08768D696B0248E28F1BD401F04BBA956AFF799162E264B7',X'9F25019EB2F63CEA75C61B33A881133A87388A159CEAC7D3DD321368CC3E6C83');
INSERT INTO "journal" VALUES(10,1794741194239586,3,1,7,9,2,NULL,X'BD67E998CA3D342418B41A7A9E4E562B941F32FC786EFAE5A4A1069D468E6F87',X'0AF7B3702BC3CC0EB36F66CEFCC24B214FA9CFECF48D6B5CBFD792965E2E5571');
INSERT INTO "journal" VALUES(11,1794741194247526,1,1,11,NULL,2,NULL,X'52AAF6DED3EF402F4F251684A808BB7FBE4C6A48670075C62C1367A0DAB4E526',X'EA4185F15110C14AF837D86E7A15D4965B94EF74B8B8BBEA67C676A79A911CF0');
INSERT INTO "journal" VALUES(12,1794741194251710,1,1,12,NULL,2,NULL,X'59E3B50D2FFB94CD176C21C52148DF6B9706276918F89ECA929E5F114953F5CB',X'1AE81D8EB1643ACD233D87A3AB6337DA4C638CC1BDC173D1103769ABC1683F61');
INSERT INTO "journal" VALUES(13,1794741194251710,3,1,12,11,2,NULL,X'0B05605204289D56ED55C481EC78E29BECEADA666777F39AAEF7D5FCA6FC3796',X'493645B45880593F2D3D49AD53FA418346CBDBC5EB13553BDB367376F43C319D');
INSERT INTO "journal" VALUES(14,1794741194255821,1,1,14,NULL,2,NULL,X'1CB3CB955E07B1D0887E5677029B7B6266A701F1945E8B8DA942564CEFC19F0F',X'6F2F09C06622089F629084304087DE5A241487B5097BA09C1BF1A1F56FC7D801');
INSERT INTO "journal" VALUES(15,1794741194260279,1,1,15,NULL,2,NULL,X'4F3A85621CF1FB0C688823EC3465F9351F21141C1A78AD606FAF97AAD2EB7267',X'B5DE9A010B360844DCB619A24D91A8ED4D46F0955349D63DEB503188F716098F');
INSERT INTO "journal" VALUES(16,1794741194268142,5,1,15,NULL,2,NULL,X'D9E4429253089A00AD988AFB50743C3A97950BCD726F0CB41A9673C11DA5D176',X'72704A68286D7B88D7E9F3B72EA0FD1F52EA43106A20CF5619D7846DE8D8C25F');
CREATE TABLE labels (label integer primary key, text text not null unique);
INSERT INTO "labels" VALUES(1,'c1');
CREATE TABLE links (
    link integer primary key,
    source integer not null,
    target integer not null,
    type integer not null,
    scope integer not null,
    weight real not null,
    properties text not null,
    salt blob not null,
    to_seq integer
);
INSERT INTO "links" VALUES(8,6,7,13,1,1.0,'{}',X'970B9FC2A182AE8B2EC6155ADC6B2A9D',NULL);
INSERT INTO "links" VALUES(10,7,9,13,1,1.0,'{}',X'231E179A995C0BCEFDA3C35B8C96725E',NULL);
INSERT INTO "links" VALUES(13,12,11,17,1,1.0,'{}',X'E4C87C9C8974296225FED36EFE460B9E',NULL);
CREATE TABLE lists (
    item integer primary key,
    scope integer not null, conversation text not null, name text not null, value text not null,
    expires_at integer not null
);
CREATE TABLE meta (name text primary key, value text not null) without rowid;
CREATE TABLE names (name integer primary key, text text not null unique);
INSERT INTO "names" VALUES(1,'agent-memory');
INSERT INTO "names" VALUES(2,'ada');
INSERT INTO "names" VALUES(3,'observation');
INSERT INTO "names" VALUES(4,'active');
INSERT INTO "names" VALUES(5,'user');
INSERT INTO "names" VALUES(6,'preference');
INSERT INTO "names" VALUES(7,'user_stated');
INSERT INTO "names" VALUES(8,'domain');
INSERT INTO "names" VALUES(9,'name');
INSERT INTO "names" VALUES(10,'turn');
INSERT INTO "names" VALUES(11,'index');
INSERT INTO "names" VALUES(12,'role');
INSERT INTO "names" VALUES(13,'FOLLOWED_BY');
INSERT INTO "names" VALUES(14,'entity');
INSERT INTO "names" VALUES(15,'type');
INSERT INTO "names" VALUES(16,'fact');
INSERT INTO "names" VALUES(17,'ABOUT');
INSERT INTO "names" VALUES(18,'goal');
INSERT INTO "names" VALUES(19,'status');
INSERT INTO "names" VALUES(20,'priority');
CREATE TABLE namespaces (
    namespace text not null, id text not null, scale real not null, data blob not null, metadata text not null,
    primary key (namespace, id)
) without rowid;
CREATE TABLE pending (
    content integer not null,
    space integer not null,
    scope integer not null,
    part integer not null,
    primary key (content, space)
) without rowid;
CREATE TABLE receipts (
    receipt integer primary key,
    id text not null unique,
    scope integer not null,
    at integer not null,
    seq integer not null,
    body text not null
);
INSERT INTO "receipts" VALUES(1,'01m7fejkj4h5zk5nnkdg26akph',1,1794741194290200,16,'{"query":"port","recipe":"default","recipe_hash":"909e3527a8747266","k":10,"now":1794741194290200,"valid_at":null,"seq":16,"searched":8,"pending":0,"milliseconds":18.039,"hits":[{"id":"01m7fejkfzc7f664hv390s0jvx","version":1,"score":1.02,"why":{"vectors":0.5,"words":0.5,"recency":0.02}},{"id":"01m7fejjyw7apn3jf5yqzmsajd","version":1,"score":0.262408,"why":{"vectors":0.2424,"recency":0.02}},{"id":"01m7fejkf96npr45vzsbs5nxsb","version":1,"score":0.174484,"why":{"vectors":0.1545,"recency":0.02}},{"id":"01m7fejkfhmmhq717mnes54c3t","version":1,"score":0.124207,"why":{"vectors":0.1042,"recency":0.02}},{"id":"01m7fejkg67sekqhw6pkw7wev4","version":1,"score":0.1121,"why":{"vectors":0.0921,"recency":0.02}},{"id":"01m7fejkgbjk9pr87d6s830vbz","version":1,"score":0.108512,"why":{"vectors":0.0885,"recency":0.02}},{"id":"01m7fejkgfrst54qdj04kz7tra","version":1,"score":0.095145,"why":{"vectors":0.0751,"recency":0.02}},{"id":"01m7fejkenxdrhxhjq854w97gq","version":3,"score":0.02,"why":{"recency":0.02}}]}');
CREATE TABLE repeats (
    scope integer not null, key text not null, request blob not null, at integer not null, answer text not null,
    primary key (scope, key)
) without rowid;
CREATE TABLE scopes (
    scope integer primary key autoincrement,  -- never used again after an erasure: the journal names it
    tenant text not null, user text not null, agent text not null,
    unique (tenant, user, agent)
);
INSERT INTO "scopes" VALUES(1,'default','ada','*');
CREATE TABLE shown (record integer not null, receipt integer not null, primary key (record, receipt)) without rowid;
INSERT INTO "shown" VALUES(2,1);
INSERT INTO "shown" VALUES(3,1);
INSERT INTO "shown" VALUES(6,1);
INSERT INTO "shown" VALUES(7,1);
INSERT INTO "shown" VALUES(9,1);
INSERT INTO "shown" VALUES(11,1);
INSERT INTO "shown" VALUES(12,1);
INSERT INTO "shown" VALUES(14,1);
CREATE TABLE spaces (
    space integer primary key,
    model text not null, version text not null, dimension integer not null,
    active integer not null,
    unique (model, version, dimension)
);
INSERT INTO "spaces" VALUES(1,'all-MiniLM-L6-v2','int8-g1',384,1);
CREATE TABLE tombstones (record integer primary key, id text not null, scope integer not null, seq integer not null);
INSERT INTO "tombstones" VALUES(15,'01m7fejkgmtb2pxgec5mxax1dr',1,16);
CREATE TABLE vectors (
    vector integer primary key,
    space integer not null,
    scope integer not null,
    content integer not null,
    part integer not null,
    start integer not null,
    "end" integer not null,
    scale real not null,
    data blob not null
);
INSERT INTO "vectors" VALUES(131072,1,1,2,0,0,28,1.19249135490477544026e-03,X'08E4D4A7ECB5C8CA07F1D50DFBDB17F132E04FFF9713EBD6E00B1A2ECFCA1A30E2EF38350DD7BF3F5C0BF94CDFEDD907E7F8CBEBFB37DCDA180E12F82A34CEB7F8E31D1240E0BD192FC04534D8D528DED3EFB723B60CF2FD17FADCEAA328FE0E21225EFC32D9F00C8FB6E4100BF5E90FF5E71669F1F8E8ECFDFC2D19E1120E001CE70FEA61EFE7E4F53FF4F4D98DCEF4F84AC4E2EAD2CFE45146F4475416FEDE2B091F0AEA0EB51EF2E8C8261F0AC50046DFE6D5F524120BF419F7101A3AFA2447F11CED6820E009003616E91D7E613A1A1C9D3CF90CFAF4D039FA1343E30F00ECF508EDC5D01AFC1708F4EF250EBCBA3401075DEC0E2F0F9B05262AE8DD314CE4E5C6F74D7F1CDEEAF70129C6341C00F6F9FBFDF5E31A23BB2F125944D7D2EF1C14FA09302DF3F4A23103D6A6012864DFFAB2C22D102F2B0EFC13FB9A04BA002FFF0D14A2F115EA361AE1FF000923A9EBD0DFE3EBF137011AF42F15D606291CBEFBDDE501122D1400CEC516D418020DF0ED18EF3DD5422B201EDC27D726F4FA');
INSERT INTO "vectors" VALUES(196608,1,1,3,0,0,23,1.22101135610595454804e-03,X'090E23FDE9F726F3141B1C301FE90220AE71EA0FBB33F30D4E3106F7DACA1D0D0B42ED410A192C0ACD0F04EFEC1EC0D50BF4D982DEF62E32040114FDDE4DCF2141D22962EED818ECC8CDE847F237AAFAF6E010DC1647F6FED5E6BD2626FB20F320E42B1EE0E439B115ED0B24F6E618A2CBD0F04E13E10CE53CDDD917C80306002EF1E6234723B881B10705E9C0EA9DBBFE34CD1ED642D71319D82712E7E1FEEE2A06CE1D06E404260B03DBE4680842F23B2F24220519EB0E0028131BF800DED72924153842E1EF01DF13D1B4050E47F5C637FAFAF5411B4DC319E1171DC6370005E0F64DD7D107BE19232C0708BCE8E90606242809FF2B06F208D21238DD45A8E0E2F8F4F216F737D6E3F82B06D81E08C9BE0B04E3D000B54B71D1D630031AD0FCC9E4CEF7F20B22DB1630CC471429F5980DEF00F11BCC4324FEC6F27007CC001034E205FB04F2ECF8DCF25AC824FAE6CC07F8EBD215FB10FF30EC61DFEF440CAED1FBB1263D0B1CE6C1FF31C1D020D306FD1BE1EBF3092E415C2FEEF0D1FEF0');
INSERT INTO "vectors" VALUES(327680,1,1,5,0,0,24,1.24449828478295039177e-03,X'0AEC3BFCE31D07040C1E0B2B2FEBEB1AC57F142BD119F0073616E705D3CC2628F81DF1620FF60C14D32709FF15FED5EC060C008ABD1D3E55102B22260D2FF7EB38E83156EFCA43F5B3E0D934F339BAFAFAC804E02F0EF9EAFB08C4FA3FE316E9E9F12D18D7F831C30BFEF63AC2DA0CBDCAE1FF350FD1E5F428FEF60AE6E8F700181BF1224532D5DAACE2061AD5CDA59DE72BD72A9643C90706C12CFDFFD8F8F11706C41301EDE31F3A16D0E46E0031E542FF3E38FE1DADF0CB4917280209EB05252918353BF8081AF6FECFC506373EE2D226F700111F1E1ADF1D08161FDB270002D80120CFEB03E0EFEF28E012DAD8E8EDD5090CFAF31824DA31B91C42D8308BD9F4180CD418093AE404C61AF8F41E13F0A90FEDCCC2D5E62463DBF94BE601C0E1CCFCDABFE50122012129C845EB04D598F5E507140FC03C33EBC3D83D1F1A00213F0C1820011A13E6E0D640C92008FBDF04FBFEC912150CD3281756CCE34D14BDF3F2C35151010CCEC00033CFA11CFD0FFC20EFDEEF133118550EF30CD021D5');
INSERT INTO "vectors" VALUES(393216,1,1,6,0,0,5,2.24839983962652270599e-03,X'E20F1727E0D4220DE7F006FBFAF40A010DF1D106E105F708E2E611160EE20F0B2501031CD7E014FFFAEAFFF317EA081515FBE6DCEE093E12F2F91AE6F111DBF009EBD5E5EBDEF700EEFEF20909020AFE07DFF0F70AFE0A19F811DD1713FCCEF31FFCCE7F1B2A0C120200DF0CFBFFFEF4EF07220BF7140D0003FD0106060506001BF3104FF3FEE5E61219141AF9170829EE17F81BEC010B2216F30AD3190CF1ED0518020502E5E700EA0F08F410FE040A040CE80DBF10FBFBF3EE160E1232EFF8DDE90F021FEBE7FE0A08060D0F0112E70711F9051516F1DBFDEBE70D0F04FE003B23D1F3E6FAF232C4070DFA1806100C4214F1F7E500E90000F70017D6F3270AFE10092D07E01ADDF412082CEFE7F30FF409D5E80A0AF904F610FEF501221429FB14F20101F218F9FA0DFA00F5FDF7050015F5FD02F31016FEE70E10F5FEED00FD030B170E0EDCEEF60B2025E203260DF401E5D7FD0209E8FEF7EE0FF702014DEBFCF0F5FF0626FCEC0BFCD0F80A19DDF8DAF11015211E2705F5E9F821151302');
INSERT INTO "vectors" VALUES(458752,1,1,7,0,0,13,1.19724623330934787021e-03,X'C12110FC4EE30901F2E74434A3351AE8F7B0C6E5B00D2206F026A3440DCACE4D26F3E60CF42127EC0EDEE508E7F3DD05F037F917FECA05DCF079660215E4195CF61BD7EEE70DF83B10AE0AF80E0841CDDEF7D3EF10F7118BE1DF41431907F2DDEB27267FE657140413D71D07D3F41026AAC5F7F80513F0356210D409DB150B0033EC053E122E36011CE7501DC9E339B4DB57221AEB560729085112FE10FCD923042507DDE1C9DEF0E51FDFF9C2F3F63431CAFF1FD3D4DC1AFC042A1D164A31C9C528FE1AFBF3B336001BC7CCB4D5FABC0E2527EB5FC938E00BECDCDD3723EF009606B8692EE64C6A0CEF39DE402C0D1A0DCAFF090346E350DA212A37FBA5F1FBE33CE74C03F2F8F40F131B4E24F3CDFE3FDCDDF40D060E0F280414F1D001DA0E2A5FC2F20604C3DD06EBD5F6AF17EEEEEDDAD3EC2845ECF308210BC7F624D800D921B228201E1126FC14C12F41D929D804C80BFBB5F6EE080FE2DD35F50914FFEDF4C8D2C6F825EDE50EF6EBAB211BEEE5C74324E4F24DFB0EDBF4205BB7C539');
INSERT INTO "vectors" VALUES(589824,1,1,9,0,0,8,1.39845215429471232161e-03,X'E324DADFF5FA12F5FDF1311EFC1616EBFCB20624D01CDBCAD117312829B5D226F710DD0546E7F2F71EBE1336E4DE19E41AF1DFF4E733FBD3200303FE3404DB1B06AB0206F101DCFDF7F9250301DA2819FFEBD12EF110EA04E8E0BAFEE702C0F3F8FFF05E2135DBE6E8C6E3231EC9EA11C420F11BF3042505FF17F124CAF21300091F14EC23270714F529BD19D60D1FEDD208D7E8EE10FEED0C03DC0B192AF02A00001CC119EC00FCB3F9BD280FED0EFD1B1DF3CCED3AF4FBEE3BF21C2534E84B2D2235E3251CB6114A1FD928CB1CE3FFBF1D01391BEFFFB51F0DB72159D2EA00CEF2EBEDFCD94509F415DA03630112F50EFE1606F2F66CE0DB0E28C6E41032FE0D28D744372710DE39EFE06ADC13CAD50A0A10FB08E8ED26FD03222B1611BCED05300C22050F18FFC621DE07C015EB15E9F6D0E7180526CE05A30414B1030800261B07F4EA07F0FF21390204E21E4C18C5F3D3ED25F615E8E6CF18360EEA0C05E92BC2F9D3093630FDD0B411F60FFE07D31BE3FC2F1B4010D1F3A52F1F7F4B3B');
INSERT INTO "vectors" VALUES(720896,1,1,11,0,0,3,2.0879399119399662775e-03,X'D7F7F013FE03510AE1EBFBFBD90AF52C1313F4E4F419F10DFF2300D504E2FBCE49FAEFFBF00302FBE10EF5E201F307100E02F217F2F9030314EC02FB14ECFF1C001AF3E407EAEEFEF00124FC24E431FD0323FA072112FBFBF7F303F3EBF6E3F910F1E77FE10FC7EEF0FB01050F0E05EEFB05F509D0FA1A30FF07EC281EEA1500E9F406DF2007F4E4FC1608FCF2FD002A0716EC05092DF11AF8160804301CFDFBDE0EFEEAF1D8ECF1F12BFE030A071111EB16EC12F40FEEDEF61439191D09FDEFD2E108F52BFFFFF8173DCCF842FAEFE3B810191710E4DEE4D911DD0FDA0EF80008ECF4D9F0F6FD0525230AF91C1716082811F01D063CEAF6FC13E622DFFB15FDE0F7EAEFFDE7D30826FFF7351505E00A0701CFEF130503F428E6E721FF0C07FAF9FAFDE9EB063300D117D50EEB00FCE1DED21A44021227160520E2FB0909E500030503FC0413D51DD5FD120AF0121E0C0207EEEAFF110BF9F5ED1D0F0CFE031D17F21013FDFEF9EC06FA1EE403110CCF090300EAF3261503EED0FBFE3603FC07');
INSERT INTO "vectors" VALUES(786432,1,1,12,0,0,14,1.22427201177191546412e-03,X'ACD3C814F6F06F1900D0CE068121123044F1CEF3192ED40E221218B91BF4F9CC7F02CC07FB05EC11E200CDE5E8D8ED104AF0EE4D03E506334201120623F2FE31B543CCC823DE0F2BF0D153161BCB4F040EDDFDFA2129DDF8F5DFFAEDCEE9B70C01C7C86ACB179CD1DCFA081A141B16F11E37EE0ECB064B102119E34926ED640006E411FB2E0A00D9F41100DE18C60C0C11F8BD0B1523D920FA110B143F18D2E9CF35F70ADBF8C7C5F947CDF706F10824F41DE8300736E3DDF013622154E1DAE2B9DEF4FE470702111667B0FF3E05F2FCC2F5360E39D9C0CF9A63C014B30AF100E9DCF3BFD5D911210E1F1607043C41104C2DEB47264BD429D510DF37DFF2FCE9CF12F4F715ECCB0E6A03EB3E2112E229BDF9BFED1B67EBEE53D7EE290B0F13B12018F0B70C1412FCAFF0E62BC2E8EDE6C7C3226613435418001ED8EB0215C600042230D4F030E6DBB5FA1A04DE1B4628F3D0EDE7DCE3052805E20240250D132A070E05CBF4EE15C503EFF6FE262310CB08D0EDCBFB1624FFE499FFFF0CEDDD1B');
INSERT INTO "vectors" VALUES(917504,1,1,14,0,0,16,1.20766132366000207565e-03,X'FEE6FCCFCCE6E5E7EB12EB38B58C34292416FDD79ABFD81FF6F8E5F7D5E6A6F43816EA056310FB0E1717E437DFD3EC1A13F8ED08CFDDD53A082AFEE1020A1207CFC33DE332FED821C4B3DC492BC1FA0902E2EECFC2CDF8EDDEF919154101E141EDC7FC42283B39FB9CF4D938DED322FCFAD813FC9DDE00F35CFD1409B1C70C0019413E0AD4063B06DC09FBEDE5FF69FDFA1E6F044509CD2237141EFE05F3CC42151ED705E5FAFCD63D110BF2511EFAE8EBE4ECE1D460D6DB30F930FF3EC4FE010B02FB0A353FE4ECD32D2BEBA96514210FEBC32D0312027FFB00EF1C11140E00D4FFE225CC011402001907117BE0EB0CD807A520DA46172A37CE1106C33339F5D137E3FD48C1E94118F83DF51E4F17DD0A11D93CE4E830E21B00DCB9D36B1EE420F923ED24E5033000FFC6DD143909C1FCED310E149B27E2F9EFEAFAA1D7E600F124CD184C23C52C41ECE7E5183EBBE3F3E111D4CBF6FD0207D3E4085AFB40C203EE5ADA5553F80D03C9E011D9E8C6CFFB1C07FAE6F21C00C046CBDA20D4FF09');
CREATE TABLE versions (
    version integer primary key,
    record integer not null,
    id text not null,
    number integer not null,
    content integer not null,
    scope integer not null,
    kind integer not null,
    key text,
    conversation integer,
    position integer,
    repository integer,
    status integer not null,
    importance real not null,
    confidence real not null,
    source integer not null,
    valid_from integer not null,
    valid_to integer,
    to_seq integer
);
INSERT INTO "versions" VALUES(2,2,'01m7fejjyw7apn3jf5yqzmsajd',1,2,1,3,NULL,NULL,NULL,NULL,4,0.5,1.0,5,1794741193686407,NULL,NULL);
INSERT INTO "versions" VALUES(3,3,'01m7fejkenxdrhxhjq854w97gq',1,3,1,6,'gitmerge style',NULL,NULL,NULL,4,0.5,1.0,7,1794741194197461,NULL,4);
INSERT INTO "versions" VALUES(4,3,'01m7fejkenxdrhxhjq854w97gq',2,3,1,6,'gitmerge style',NULL,NULL,NULL,4,0.5,1.0,7,1794741194197461,1794741194208268,NULL);
INSERT INTO "versions" VALUES(5,3,'01m7fejkenxdrhxhjq854w97gq',3,5,1,6,'gitmerge style',NULL,NULL,NULL,4,0.5,1.0,7,1794741194208268,NULL,NULL);
INSERT INTO "versions" VALUES(6,6,'01m7fejkf96npr45vzsbs5nxsb',1,6,1,10,'c10',1,0,NULL,4,0.5,1.0,5,1794741194217151,NULL,NULL);
INSERT INTO "versions" VALUES(7,7,'01m7fejkfhmmhq717mnes54c3t',1,7,1,10,'c11',1,1,NULL,4,0.5,1.0,5,1794741194226010,NULL,NULL);
INSERT INTO "versions" VALUES(9,9,'01m7fejkfzc7f664hv390s0jvx',1,9,1,10,'c12',1,2,NULL,4,0.5,1.0,5,1794741194239311,NULL,NULL);
INSERT INTO "versions" VALUES(11,11,'01m7fejkg67sekqhw6pkw7wev4',1,11,1,14,'adaperson',NULL,NULL,NULL,4,0.5,1.0,5,1794741194246990,NULL,NULL);
INSERT INTO "versions" VALUES(12,12,'01m7fejkgbjk9pr87d6s830vbz',1,12,1,16,'claimfa6c53e71de1b8bf22bb69c4c8c2907b',NULL,NULL,NULL,4,0.5,0.8,7,1794741194251269,NULL,NULL);
INSERT INTO "versions" VALUES(14,14,'01m7fejkgfrst54qdj04kz7tra',1,14,1,18,NULL,NULL,NULL,NULL,4,0.5,1.0,5,1794741194255366,NULL,NULL);
CREATE TABLE words (content integer primary key, length integer not null, terms blob not null);
INSERT INTO "words" VALUES(2,4,X'862B22A72D9A59B69650A1ECD9BACD9D1F939F483813BF722A9C128D19AFD6BBC754A451AC063EB76870E49A1FFEFA29010101010101');
INSERT INTO "words" VALUES(3,4,X'9795950813C87E50BB2108A5405EE7FA04F21BF199B7526D010201');
INSERT INTO "words" VALUES(5,4,X'9795950813C87E50BB2108A5405EE7FA04F21BF199B7526D6B597E2BA7C72EC501010101');
INSERT INTO "words" VALUES(6,1,X'A7B6EDA801E5347DF602F7860A55119D0101');
INSERT INTO "words" VALUES(7,1,X'60BF1CCFA0BCABDBF602F7860A55119D1D503307DCEEF42E010101');
INSERT INTO "words" VALUES(9,1,X'1F939F483813BF72F602F7860A55119D0101');
INSERT INTO "words" VALUES(11,1,X'15B0DA432116052701');
INSERT INTO "words" VALUES(12,2,X'15B0DA4321160527DA2AD283AD3E175F0101');
INSERT INTO "words" VALUES(14,2,X'42F93A741D5D3F4C22DD0D478199B3FF0101');
CREATE TABLE working (
    scope integer not null, conversation text not null, key text not null, value text not null,
    expires_at integer not null,
    primary key (scope, conversation, key)
) without rowid;
CREATE INDEX versions_id on versions (id, scope);
CREATE INDEX versions_time on versions (scope, kind, valid_from);
CREATE INDEX versions_key on versions (key, kind, scope) where key is not null;
CREATE INDEX versions_conversation on versions (conversation) where conversation is not null;
CREATE INDEX versions_repository on versions (repository) where repository is not null;
CREATE INDEX links_source on links (source, type);
CREATE INDEX links_target on links (target, type);
CREATE INDEX fields_content on fields (content);
CREATE INDEX vectors_content on vectors (scope, space, content);
CREATE INDEX receipts_at on receipts (at);
CREATE INDEX shown_receipt on shown (receipt);
CREATE INDEX lists_name on lists (scope, conversation, name, item);
CREATE VIEW "turns" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.index') as "index",
    json_extract(c.payload, '$.role') as "role",
    json_extract(c.payload, '$.speaker') as "speaker",
    json_extract(c.payload, '$.token_count') as "token_count",
    json_extract(c.payload, '$.metadata') as "metadata"
from versions v
join names k on k.name = v.kind and k.text = 'turn'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "entities" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.name') as "name",
    json_extract(c.payload, '$.type') as "type",
    json_extract(c.payload, '$.aliases') as "aliases",
    json_extract(c.payload, '$.description') as "description",
    json_extract(c.payload, '$.properties') as "properties"
from versions v
join names k on k.name = v.kind and k.text = 'entity'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "facts" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.source_turn_id') as "source_turn_id",
    json_extract(c.payload, '$.entity_ids') as "entity_ids",
    json_extract(c.payload, '$.subject') as "subject",
    json_extract(c.payload, '$.predicate') as "predicate"
from versions v
join names k on k.name = v.kind and k.text = 'fact'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "tool_calls" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.tool_name') as "tool_name",
    json_extract(c.payload, '$.tool_input') as "tool_input",
    json_extract(c.payload, '$.tool_output') as "tool_output",
    json_extract(c.payload, '$.success') as "success",
    json_extract(c.payload, '$.latency_ms') as "latency_ms",
    json_extract(c.payload, '$.turn_id') as "turn_id",
    json_extract(c.payload, '$.task_type') as "task_type"
from versions v
join names k on k.name = v.kind and k.text = 'tool_call'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "strategies" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.description') as "description",
    json_extract(c.payload, '$.context_pattern') as "context_pattern",
    json_extract(c.payload, '$.tool_sequence') as "tool_sequence",
    json_extract(c.payload, '$.success_count') as "success_count",
    json_extract(c.payload, '$.failure_count') as "failure_count",
    json_extract(c.payload, '$.last_used') as "last_used"
from versions v
join names k on k.name = v.kind and k.text = 'strategy'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "reflections" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.type') as "type",
    json_extract(c.payload, '$.outcome') as "outcome",
    json_extract(c.payload, '$.state') as "state"
from versions v
join names k on k.name = v.kind and k.text = 'reflection'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "preferences" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.domain') as "domain",
    json_extract(c.payload, '$.name') as "name",
    json_extract(c.payload, '$.value') as "value"
from versions v
join names k on k.name = v.kind and k.text = 'preference'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "expertises" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.topic') as "topic",
    json_extract(c.payload, '$.level') as "level"
from versions v
join names k on k.name = v.kind and k.text = 'expertise'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "interests" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.topic') as "topic"
from versions v
join names k on k.name = v.kind and k.text = 'interest'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "goals" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.status') as "status",
    json_extract(c.payload, '$.priority') as "priority",
    json_extract(c.payload, '$.parent_goal_id') as "parent_goal_id",
    json_extract(c.payload, '$.deadline') as "deadline",
    json_extract(c.payload, '$.blocked_by') as "blocked_by"
from versions v
join names k on k.name = v.kind and k.text = 'goal'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "tasks" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.status') as "status",
    json_extract(c.payload, '$.goal_id') as "goal_id",
    json_extract(c.payload, '$.depends_on') as "depends_on",
    json_extract(c.payload, '$.result') as "result"
from versions v
join names k on k.name = v.kind and k.text = 'task'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "decisions" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.decided_by') as "decided_by",
    json_extract(c.payload, '$.reason') as "reason",
    json_extract(c.payload, '$.alternatives') as "alternatives",
    json_extract(c.payload, '$.outcome') as "outcome"
from versions v
join names k on k.name = v.kind and k.text = 'decision'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "observations" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.cycle_id') as "cycle_id",
    json_extract(c.payload, '$.run_id') as "run_id",
    json_extract(c.payload, '$.metadata') as "metadata"
from versions v
join names k on k.name = v.kind and k.text = 'observation'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "plans" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.cycle_id') as "cycle_id",
    json_extract(c.payload, '$.run_id') as "run_id",
    json_extract(c.payload, '$.metadata') as "metadata"
from versions v
join names k on k.name = v.kind and k.text = 'plan'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "results" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.cycle_id') as "cycle_id",
    json_extract(c.payload, '$.run_id') as "run_id",
    json_extract(c.payload, '$.metadata') as "metadata"
from versions v
join names k on k.name = v.kind and k.text = 'result'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "summaries" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.cycle_id') as "cycle_id",
    json_extract(c.payload, '$.run_id') as "run_id",
    json_extract(c.payload, '$.metadata') as "metadata"
from versions v
join names k on k.name = v.kind and k.text = 'summary'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('scopes',1);
COMMIT;
PRAGMA application_id = 1634159973;
PRAGMA user_version = 1;
